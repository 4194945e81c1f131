"""engine: automatic differentiation to read in an afternoon, and to keep using.

Values are single numbers, Tensors batches of them; both stand in one graph. Names, defaults and
results are PyTorch's wherever it has them: `import engine as torch`.
"""

from importlib import import_module
from typing import Any

from engine import builds as builds

builds.take_places()
builds.stand_here("engine.creation")

from engine import (
    autograd as autograd,
    by_hand,
    cuda as cuda,
    differentiation,
    forking as forking,
    free_threading as free_threading,
    func as func,
    habits,
    inlining,
    leaves as leaves,
    nn as nn,
    ops as ops,
    optim as optim,
    recording,
    refusals,
    registry,
    saving,
    tensors,
    utils as utils,
    value,
)
from engine.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
)
from engine.builds import (
    __version__ as __version__,
    backend as backend,
)
from engine.compiling import compile as compile
from engine.convert import (
    can_cast as can_cast,
    get_device as get_device,
    is_complex as is_complex,
    is_floating_point as is_floating_point,
    is_inference as is_inference,
    is_signed as is_signed,
    promote_types as promote_types,
    set_default_tensor_type as set_default_tensor_type,
)
from engine.creation import (
    BoolTensor as BoolTensor,
    ByteTensor as ByteTensor,
    CharTensor as CharTensor,
    DoubleTensor as DoubleTensor,
    FloatTensor as FloatTensor,
    HalfTensor as HalfTensor,
    IntTensor as IntTensor,
    LongTensor as LongTensor,
    ShortTensor as ShortTensor,
    TensorType as TensorType,
    arange as arange,
    as_tensor as as_tensor,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_numpy as from_numpy,
    full as full,
    full_like as full_like,
    is_tensor as is_tensor,
    linspace as linspace,
    ones as ones,
    ones_like as ones_like,
    tensor as tensor,
    zeros as zeros,
    zeros_like as zeros_like,
)
from engine.devices import (
    channels_last as channels_last,
    contiguous_format as contiguous_format,
    device as device,
    memory_format as memory_format,
    preserve_format as preserve_format,
)
from engine.dtypes import (
    bool as bool,
    double as double,
    dtype as dtype,
    float as float,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    get_default_dtype as get_default_dtype,
    half as half,
    int as int,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    long as long,
    result_type as result_type,
    set_default_dtype as set_default_dtype,
    short as short,
    uint8 as uint8,
)
from engine.files import load as load, save as save
from engine.function import Function as Function, once_differentiable as once_differentiable
from engine.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from engine.habits import Value as Value
from engine.lists import (
    cross_entropy as cross_entropy,
    lookup as lookup,
    maximum as maximum,
    numbers as numbers,
    values as values,
)
from engine.ops.blends import (
    addcdiv as addcdiv,
    addcmul as addcmul,
    lerp as lerp,
)
from engine.ops.collect import (
    index_reduce as index_reduce,
    scatter_reduce as scatter_reduce,
)
from engine.ops.elementwise import (
    absolute as absolute,
    add as add,
    clamp as clamp,
    clamp_max as clamp_max,
    clamp_min as clamp_min,
    clip as clip,
    div as div,
    divide as divide,
    elu as elu,
    leaky_relu as leaky_relu,
    mul as mul,
    multiply as multiply,
    neg as neg,
    negative as negative,
    pow as pow,
    sub as sub,
    subtract as subtract,
    true_divide as true_divide,
)
from engine.ops.index import (
    argwhere as argwhere,
    diag_embed as diag_embed,
    gather as gather,
    index_add as index_add,
    index_copy as index_copy,
    index_fill as index_fill,
    index_put as index_put,
    index_put_ as index_put_,
    index_select as index_select,
    masked_fill as masked_fill,
    masked_scatter as masked_scatter,
    masked_select as masked_select,
    nonzero as nonzero,
    put as put,
    repeat_interleave as repeat_interleave,
    scatter as scatter,
    scatter_add as scatter_add,
    take as take,
    take_along_dim as take_along_dim,
    where as where,
)
from engine.ops.join import (
    cat as cat,
    chunk as chunk,
    concat as concat,
    concatenate as concatenate,
    hstack as hstack,
    split as split,
    split_with_sizes as split_with_sizes,
    stack as stack,
    tensor_split as tensor_split,
    unbind as unbind,
    unsafe_chunk as unsafe_chunk,
    unsafe_split as unsafe_split,
    unsafe_split_with_sizes as unsafe_split_with_sizes,
    vstack as vstack,
)
from engine.ops.linear import (
    addmm as addmm,
    addmv as addmv,
    baddbmm as baddbmm,
    bmm as bmm,
    diag as diag,
    dot as dot,
    einsum as einsum,
    matmul as matmul,
    mm as mm,
    mv as mv,
    outer as outer,
    trace as trace,
    tril as tril,
    triu as triu,
)
from engine.ops.logic import (
    allclose as allclose,
    bitwise_and as bitwise_and,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    eq as eq,
    equal as equal,
    ge as ge,
    greater as greater,
    greater_equal as greater_equal,
    gt as gt,
    isclose as isclose,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    le as le,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    lt as lt,
    ne as ne,
    not_equal as not_equal,
    signbit as signbit,
)
from engine.ops.order import (
    amax as amax,
    amin as amin,
    argmax as argmax,
    argmin as argmin,
    argsort as argsort,
    kthvalue as kthvalue,
    max as max,
    median as median,
    min as min,
    nanmedian as nanmedian,
    sort as sort,
    topk as topk,
)
from engine.ops.probabilities import (
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    softmax as softmax,
)
from engine.ops.reduce import (
    all as all,
    any as any,
    count_nonzero as count_nonzero,
    mean as mean,
    nansum as nansum,
    norm as norm,
    prod as prod,
    std as std,
    std_mean as std_mean,
    sum as sum,
    var as var,
    var_mean as var_mean,
)
from engine.ops.scalars import unstack as unstack
from engine.ops.scans import (
    cumprod as cumprod,
    cumsum as cumsum,
)
from engine.ops.search import (
    bucketize as bucketize,
    isin as isin,
    searchsorted as searchsorted,
)
from engine.ops.shape import (
    as_strided as as_strided,
    broadcast_shapes as broadcast_shapes,
    broadcast_tensors as broadcast_tensors,
    broadcast_to as broadcast_to,
    clone as clone,
    detach_ as detach_,
    diagonal as diagonal,
    fill_ as fill_,
    flatten as flatten,
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    meshgrid as meshgrid,
    moveaxis as moveaxis,
    movedim as movedim,
    narrow as narrow,
    numel as numel,
    permute as permute,
    ravel as ravel,
    reshape as reshape,
    roll as roll,
    select as select,
    squeeze as squeeze,
    swapaxes as swapaxes,
    swapdims as swapdims,
    t as t,
    tile as tile,
    transpose as transpose,
    unflatten as unflatten,
    unsqueeze as unsqueeze,
    zero_ as zero_,
)
from engine.ops.stepwise import (
    ceil as ceil,
    fix as fix,
    floor as floor,
    floor_divide as floor_divide,
    fmod as fmod,
    frac as frac,
    nan_to_num as nan_to_num,
    nextafter as nextafter,
    remainder as remainder,
    round as round,
    sgn as sgn,
    sign as sign,
    trunc as trunc,
)
from engine.ops.unique import (
    _unique as _unique,
    _unique2 as _unique2,
    unique as unique,
    unique_consecutive as unique_consecutive,
)
from engine.origins import first_nan as first_nan
from engine.printing import set_printoptions as set_printoptions
from engine.random import (
    Generator as Generator,
    bernoulli as bernoulli,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    multinomial as multinomial,
    normal as normal,
    rand as rand,
    rand_like as rand_like,
    randint as randint,
    randint_like as randint_like,
    randn as randn,
    randn_like as randn_like,
    randperm as randperm,
    seed as seed,
    set_rng_state as set_rng_state,
)
from engine.registry import rule as rule
from engine.storage import empty_strided as empty_strided, strided as strided
from engine.tensors import Size as Size, Tensor as Tensor
from engine.warned import (
    is_warn_always_enabled as is_warn_always_enabled,
    set_warn_always as set_warn_always,
)

value.connect(
    general=differentiation.general,
    lookup=habits.lookup,
    by_hand=by_hand.by_hand,
    describe=by_hand.describe,
    forget=by_hand.forget,
    saved=saving.reduced_value,
    elementary=registry.of_values,
    ufunc=tensors.array_ufunc,
    watch=recording.watch,
)
if backend() == "python":
    inlining.inline_operators(Value)
    inlining.settle(value, "arrange", "further")

refusals.complete()

# Every rule is a function too, unless one of its name with options stands above.
globals().update({name: rule for name, rule in registry.RULES.items() if name not in globals()})


def __getattr__(name: str) -> Any:
    """The parts that are imported when they are first used."""
    if name in ("_C", "_VF", "data", "scalar", "testing", "visualize"):
        return import_module(f"engine.{name}")
    raise AttributeError(f"module 'engine' has no attribute {name!r}")
