"""Forward mode: dual numbers, and jvp of custom Functions."""

import gc
import weakref

import pytest

import engine as torch

fw = torch.autograd.forward_ad
gradcheck = torch.autograd.gradcheck


def test_a_dual_is_made_and_unpacked():
    x, t = torch.rand(2, 3), torch.rand(2, 3)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        primal, tangent = fw.unpack_dual(dual)
        assert torch.equal(primal, x)
        assert tangent is t
        assert fw.unpack_dual(x).tangent is None
    assert fw.unpack_dual.__name__ == "unpack_dual"


def test_unpacking_gives_a_named_tuple():
    with fw.dual_level():
        pair = fw.unpack_dual(fw.make_dual(torch.ones(2), torch.zeros(2)))
        assert pair.primal is pair[0]
        assert pair.tangent is pair[1]


def test_a_dual_needs_a_level_and_its_tangent_is_gone_after_it():
    x, t = torch.rand(2), torch.rand(2)
    with pytest.raises(RuntimeError, match="level"):
        fw.make_dual(x, t)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        assert fw.unpack_dual(dual).tangent is t
    with fw.dual_level():
        assert fw.unpack_dual(dual).tangent is None
        assert fw.unpack_dual(x).tangent is None
    with pytest.raises(RuntimeError, match="level"):
        fw.make_dual(x, t)


def test_levels_are_entered_and_left_by_hand_too():
    level = fw.enter_dual_level()
    dual = fw.make_dual(torch.ones(2), torch.ones(2))
    assert fw.unpack_dual(dual * 3).tangent.tolist() == [3.0, 3.0]
    fw.exit_dual_level(level=level)
    with pytest.raises(RuntimeError):
        fw.exit_dual_level()


def test_nested_levels_are_not_supported():
    with fw.dual_level(), pytest.raises(RuntimeError, match="Nested forward mode"):
        fw.enter_dual_level()


def test_a_tangent_must_have_the_size_of_the_primal_and_floating_numbers():
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="different size"):
            fw.make_dual(torch.rand(2, 3), torch.rand(3))
        with pytest.raises(ValueError, match="floating point"):
            fw.make_dual(torch.ones(2, dtype=torch.int64), torch.ones(2))
        with pytest.raises(ValueError, match="floating point"):
            fw.make_dual(torch.ones(2), torch.ones(2, dtype=torch.int64))


def test_a_tangent_may_not_be_a_dual_itself():
    with fw.dual_level():
        dual = fw.make_dual(torch.rand(2), torch.rand(2))
        with pytest.raises(RuntimeError, match="itself has a forward grad"):
            fw.make_dual(torch.rand(2), dual)


def test_comparisons_of_duals_work_and_have_no_tangent():
    with fw.dual_level():
        a = fw.make_dual(torch.rand(3), torch.rand(3))
        b = fw.make_dual(torch.rand(3), torch.rand(3))
        for f in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne):
            assert fw.unpack_dual(f(a, b)).tangent is None
        assert fw.unpack_dual(a.max(0).indices).tangent is None


def test_the_text_of_a_dual_shows_its_tangent():
    with fw.dual_level():
        assert "tangent=" in str(fw.make_dual(torch.ones(2), torch.zeros(2)))


def test_copy_takes_a_copy_of_the_tangent():
    with fw.dual_level():
        target = torch.rand(2)
        source = fw.make_dual(torch.rand(2), torch.ones(2))
        target.copy_(source)
        given = fw.unpack_dual(target).tangent
        assert given.tolist() == [1.0, 1.0]
        assert given is not fw.unpack_dual(source).tangent
        source.mul_(2)
        assert fw.unpack_dual(target).tangent.tolist() == [1.0, 1.0]


def test_copy_broadcasts_the_tangent():
    with fw.dual_level():
        target = torch.rand(3, 2)
        target.copy_(fw.make_dual(torch.rand(2), torch.tensor([1.0, 2.0])))
        assert fw.unpack_dual(target).tangent.tolist() == [[1.0, 2.0]] * 3


def test_a_dual_written_into_a_view_gives_the_base_its_tangent():
    base = torch.rand(2, 2)
    with fw.dual_level():
        view = base[0]
        view.copy_(fw.make_dual(torch.rand(2), torch.tensor([1.0, 2.0])))
        assert fw.unpack_dual(view).tangent.tolist() == [1.0, 2.0]
        assert fw.unpack_dual(base).tangent.tolist() == [[1.0, 2.0], [0.0, 0.0]]


def test_a_view_of_a_dual_follows_changes_in_place_of_either():
    with fw.dual_level():
        base = fw.make_dual(torch.ones(2, 2), torch.ones(2, 2))
        view = base[0]
        view.mul_(3)
        assert fw.unpack_dual(base).tangent.tolist() == [[3.0, 3.0], [1.0, 1.0]]
        base.mul_(2)
        assert fw.unpack_dual(view).tangent.tolist() == [6.0, 6.0]


def test_a_detached_view_of_a_dual_has_no_tangent_and_the_base_keeps_its_own():
    with fw.dual_level():
        base = fw.make_dual(torch.ones(2), torch.ones(2))
        flat = base.detach()
        assert fw.unpack_dual(flat).tangent is None
        assert fw.unpack_dual(base).tangent.tolist() == [1.0, 1.0]


def test_the_out_argument_is_refused_with_duals():
    with fw.dual_level():
        dual = fw.make_dual(torch.rand(2), torch.rand(2))
        with pytest.raises(NotImplementedError, match="it is an out= function"):
            torch.add(dual, dual, out=torch.rand(2))
        with pytest.raises(NotImplementedError, match="it is an out= function"):
            torch.add(torch.rand(2), torch.rand(2), out=dual)


def test_a_cycle_of_dual_and_graph_is_collected():
    class Canary:
        pass

    def scope(kept):
        with fw.dual_level():
            x = torch.rand(2, requires_grad=True)
            dual = fw.make_dual(x, torch.rand(2, requires_grad=True))
            y = (dual * dual).sum()
            dual.keep = (y, kept)
            y.backward()

    canary = Canary()
    seen = weakref.ref(canary)
    scope(canary)
    del canary
    gc.collect()
    assert seen() is None


def test_tangents_without_elements_work():
    with fw.dual_level():
        x = fw.make_dual(torch.rand(0, 2), torch.rand(0, 2))
        assert fw.unpack_dual(x * 2).tangent.shape == (0, 2)
        y = fw.make_dual(torch.rand(1, 3).t(), torch.rand(3, 1))
        assert fw.unpack_dual(y * 2).tangent.shape == (3, 1)


# --- custom Functions ---


class Scale(torch.autograd.Function):
    """x * n, with a jvp that is told n and is `error` too large."""

    @staticmethod
    def forward(ctx, x, n, error=0.0):
        ctx.n, ctx.error = n, error
        return x * n

    @staticmethod
    def backward(ctx, g):
        return g * ctx.n, None, None

    @staticmethod
    def jvp(ctx, t, n, error=None):
        assert n is None
        assert error is None
        return t * (ctx.n + ctx.error)


def test_jvp_gets_none_for_what_is_no_tensor():
    with fw.dual_level():
        out = Scale.apply(fw.make_dual(torch.ones(2), torch.ones(2)), 3, 0.0)
        assert fw.unpack_dual(out).tangent.tolist() == [3.0, 3.0]


def test_gradcheck_notices_a_wrong_jvp():
    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda t: Scale.apply(t, 3, 0.0), (x,), check_forward_ad=True)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch"):
        gradcheck(lambda t: Scale.apply(t, 3, 0.5), (x,), check_forward_ad=True)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_gradcheck_goes_only_the_ways_it_is_asked_to(forward, backward):
    ran = set()

    class Spy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ran.add("backward")
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            ran.add("forward")
            return t * 2

    if forward or backward:
        x = torch.rand(2, dtype=torch.float64, requires_grad=True)
        options = {"check_forward_ad": forward, "check_backward_ad": backward}
        gradcheck(Spy.apply, (x,), check_undefined_grad=False, check_batched_grad=False, **options)
    assert ran == {name for name, on in (("forward", forward), ("backward", backward)) if on}


def test_a_function_without_jvp_says_so():
    class NoJvp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with fw.dual_level(), pytest.raises(RuntimeError, match="jvp"):
        NoJvp.apply(fw.make_dual(torch.ones(2), torch.ones(2)))


def test_what_is_saved_for_forward_is_there_in_jvp():
    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            ctx.save_for_forward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def jvp(ctx, a, b):
            x, y = ctx.saved_tensors
            return a * y + x * b

    with fw.dual_level():
        x = fw.make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
        y = fw.make_dual(torch.tensor([5.0]), torch.tensor([10.0]))
        assert fw.unpack_dual(Times.apply(x, y)).tangent.tolist() == [25.0]


class InPlace(torch.autograd.Function):
    in_place = True

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        return t.mul_(2) if InPlace.in_place else t * 2


def test_the_jvp_of_a_change_in_place_changes_the_tangent_in_place():
    InPlace.in_place = True
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2), torch.ones(2))
        InPlace.apply(x)
        assert fw.unpack_dual(x).tangent.tolist() == [2.0, 2.0]
        InPlace.in_place = False
        with pytest.raises(RuntimeError, match="is not modifying the forward mode gradients in"):
            InPlace.apply(fw.make_dual(torch.ones(2), torch.ones(2)))


def test_the_jvp_of_a_view_returns_a_view():
    class Narrow(torch.autograd.Function):
        view = True

        @staticmethod
        def forward(ctx, x):
            return x.narrow(0, 0, 2)

        @staticmethod
        def backward(ctx, g):
            return torch.cat([g, torch.zeros(1)])

        @staticmethod
        def jvp(ctx, t):
            part = t.narrow(0, 0, 2)
            return part if Narrow.view else part.clone()

    with fw.dual_level():
        x = fw.make_dual(torch.ones(3), torch.tensor([1.0, 2.0, 3.0]))
        assert fw.unpack_dual(Narrow.apply(x)).tangent.tolist() == [1.0, 2.0]
        Narrow.view = False
        with pytest.raises(RuntimeError, match="the jvp is not returning a view"):
            Narrow.apply(x)


def test_non_differentiable_outputs_have_no_tangent():
    class Marks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.mark_non_differentiable(y)
            return x * 2, y

        @staticmethod
        def backward(ctx, g1, g2):
            return g1 * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 2, None

    with fw.dual_level():
        a, b = Marks.apply(fw.make_dual(torch.ones(2), torch.ones(2)))
        assert fw.unpack_dual(a).tangent.tolist() == [2.0, 2.0]
        assert fw.unpack_dual(b).tangent is None


def test_forward_over_reverse_gives_second_derivatives():
    x = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, torch.ones(2, dtype=torch.float64))
        (g,) = torch.autograd.grad((dual**3).sum(), x, create_graph=True)
        assert torch.allclose(fw.unpack_dual(g).tangent, 6 * x)


class Part(torch.autograd.Function):
    """The first two rows, as a view; `tangent` says what jvp returns."""

    tangent = staticmethod(lambda t: t.narrow(0, 0, 2))

    @staticmethod
    def forward(ctx, x):
        return x.narrow(0, 0, 2)

    @staticmethod
    def backward(ctx, g):
        out = g.new_zeros(4, 3)
        out.narrow(0, 0, 2).copy_(g)
        return out

    @classmethod
    def jvp(cls, ctx, t):
        return cls.tangent(t)


@pytest.mark.parametrize(
    ("tangent", "through", "text"),
    [
        (lambda t: t.narrow(0, 0, 2).clone(), False, "jvp is not returning a view"),
        (lambda t: t.narrow(0, 0, 2).clone()[:], False, "not returning a view of the given"),
        (lambda t: t.narrow(0, 0, 2).clone()[:], True, "not returning a view of the same base"),
    ],
    ids=["no view", "of another tensor", "of another base"],
)
def test_the_jvp_of_a_view_returns_a_view_of_the_tangent_itself(tangent, through, text):
    class Wrong(Part):
        pass

    Wrong.tangent = staticmethod(tangent)
    x = torch.rand(4, 3, dtype=torch.double, requires_grad=True)
    assert gradcheck(Part.apply, x, check_forward_ad=True)
    with pytest.raises(RuntimeError, match=text):
        gradcheck(lambda x: Wrong.apply(x[:] if through else x), x, check_forward_ad=True)


def identity(tangent):
    """A Function that returns its input as it is, with this jvp."""

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def jvp(ctx, t):
            return tangent(t)

    return Same.apply


@pytest.mark.parametrize("recorded", [False, True])
def test_the_jvp_of_an_input_returned_as_it_is_returns_a_view(recorded):
    x, t = torch.rand(2, requires_grad=recorded), torch.rand(2)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        y = identity(lambda t: t.view_as(t))(dual)
        assert fw.unpack_dual(y).tangent._base is t
        for wrong in (lambda t: t, lambda t: t * 2):
            with pytest.raises(RuntimeError, match=r"a view \(or an input as-is\)"):
                identity(wrong)(dual)


def test_the_jvp_of_a_change_in_place_must_change_the_tangent():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, t):
            return t

    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="must modify the corresponding gradient inplace"):
            Double.apply(dual)


def test_a_tangent_for_an_output_without_derivative_is_refused():
    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            return x.clone(), n.clone(), "text"

        @staticmethod
        def jvp(ctx, t, _):
            return t, Mixed.second, None

    with fw.dual_level():
        dual, n = fw.make_dual(torch.ones(2), torch.ones(2)), torch.tensor(3)
        Mixed.second = None
        x, whole, text = Mixed.apply(dual, n)
        assert fw.unpack_dual(whole).tangent is None
        assert (fw.unpack_dual(x).tangent.tolist(), text) == ([1.0, 1.0], "text")
        Mixed.second = torch.ones(())
        with pytest.raises(RuntimeError, match=r"output 1 has no derivative .*return None at that"):
            Mixed.apply(dual, n)


def test_comparisons_in_place_give_a_tangent_of_zero():
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2), torch.ones(2))
        x.eq_(torch.tensor([1.0, 2.0]))
        assert fw.unpack_dual(x).tangent.tolist() == [0.0, 0.0]


def test_a_dual_made_in_inference_mode_is_no_view_and_shares_memory():
    with torch.inference_mode(), fw.dual_level():
        x = torch.ones(2)
        dual = fw.make_dual(x, torch.ones(2))
        assert not dual._is_view()
        dual += 1
        assert x.tolist() == [2.0, 2.0]


def test_gradcheck_gives_a_tangent_to_every_input_that_requires_grad():
    seen = []

    def f(x, y):
        if fw._current_level >= 0:
            seen.append([fw.unpack_dual(z).tangent.tolist() for z in (x, y)])
        return x * y

    x, y = (torch.rand(1, dtype=torch.double, requires_grad=True) for _ in range(2))
    assert gradcheck(f, (x, y), check_forward_ad=True)
    assert seen == [[[1.0], [0.0]], [[0.0], [1.0]]]


def test_tangents_can_be_switched_off():
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        with fw._set_fwd_grad_enabled(False):
            assert not fw._is_fwd_grad_enabled()
            assert fw.unpack_dual(dual * 2).tangent is None
        assert fw._is_fwd_grad_enabled()
        torch._C._set_fwd_grad_enabled(True)
        assert fw.unpack_dual(dual * 2).tangent.tolist() == [2.0, 2.0]
