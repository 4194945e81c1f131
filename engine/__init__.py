"""engine: automatic differentiation to read in an afternoon, and to keep using.

Values are single numbers, Tensors batches of them; both stand in one graph. Names, defaults and
results are PyTorch's wherever it has them: `import engine as torch`.
"""

import engine.autograd as autograd
from engine import builds, cuda, graph, habits, nn, ops, optim, registry, saving, tensors
from engine.builds import (
    __version__ as __version__,
)
from engine.builds import (
    backend as backend,
)
from engine.convert import (
    can_cast as can_cast,
)
from engine.convert import (
    get_device as get_device,
)
from engine.convert import (
    is_complex as is_complex,
)
from engine.convert import (
    is_floating_point as is_floating_point,
)
from engine.convert import (
    is_signed as is_signed,
)
from engine.convert import (
    promote_types as promote_types,
)
from engine.convert import (
    set_default_tensor_type as set_default_tensor_type,
)
from engine.creation import (
    BoolTensor as BoolTensor,
)
from engine.creation import (
    ByteTensor as ByteTensor,
)
from engine.creation import (
    CharTensor as CharTensor,
)
from engine.creation import (
    DoubleTensor as DoubleTensor,
)
from engine.creation import (
    FloatTensor as FloatTensor,
)
from engine.creation import (
    HalfTensor as HalfTensor,
)
from engine.creation import (
    IntTensor as IntTensor,
)
from engine.creation import (
    LongTensor as LongTensor,
)
from engine.creation import (
    ShortTensor as ShortTensor,
)
from engine.creation import (
    Tensor as Tensor,
)
from engine.creation import (
    TensorType as TensorType,
)
from engine.creation import (
    arange as arange,
)
from engine.creation import (
    as_tensor as as_tensor,
)
from engine.creation import (
    empty as empty,
)
from engine.creation import (
    empty_like as empty_like,
)
from engine.creation import (
    eye as eye,
)
from engine.creation import (
    from_numpy as from_numpy,
)
from engine.creation import (
    full as full,
)
from engine.creation import (
    full_like as full_like,
)
from engine.creation import (
    is_tensor as is_tensor,
)
from engine.creation import (
    linspace as linspace,
)
from engine.creation import (
    ones as ones,
)
from engine.creation import (
    ones_like as ones_like,
)
from engine.creation import (
    tensor as tensor,
)
from engine.creation import (
    zeros as zeros,
)
from engine.creation import (
    zeros_like as zeros_like,
)
from engine.devices import device as device
from engine.dtypes import (
    bool as bool,
)
from engine.dtypes import (
    double as double,
)
from engine.dtypes import (
    dtype as dtype,
)
from engine.dtypes import (
    float as float,
)
from engine.dtypes import (
    float16 as float16,
)
from engine.dtypes import (
    float32 as float32,
)
from engine.dtypes import (
    float64 as float64,
)
from engine.dtypes import (
    get_default_dtype as get_default_dtype,
)
from engine.dtypes import (
    half as half,
)
from engine.dtypes import (
    int as int,
)
from engine.dtypes import (
    int8 as int8,
)
from engine.dtypes import (
    int16 as int16,
)
from engine.dtypes import (
    int32 as int32,
)
from engine.dtypes import (
    int64 as int64,
)
from engine.dtypes import (
    long as long,
)
from engine.dtypes import (
    result_type as result_type,
)
from engine.dtypes import (
    set_default_dtype as set_default_dtype,
)
from engine.dtypes import (
    short as short,
)
from engine.dtypes import (
    uint8 as uint8,
)
from engine.function import Function as Function
from engine.function import once_differentiable as once_differentiable
from engine.grad_mode import (
    enable_grad as enable_grad,
)
from engine.grad_mode import (
    is_grad_enabled as is_grad_enabled,
)
from engine.grad_mode import (
    no_grad as no_grad,
)
from engine.grad_mode import (
    set_grad_enabled as set_grad_enabled,
)
from engine.habits import Value as Value
from engine.ops.blends import (
    addcdiv as addcdiv,
)
from engine.ops.blends import (
    addcmul as addcmul,
)
from engine.ops.blends import (
    lerp as lerp,
)
from engine.ops.elementwise import (
    absolute as absolute,
)
from engine.ops.elementwise import (
    add as add,
)
from engine.ops.elementwise import (
    clamp as clamp,
)
from engine.ops.elementwise import (
    clamp_max as clamp_max,
)
from engine.ops.elementwise import (
    clamp_min as clamp_min,
)
from engine.ops.elementwise import (
    clip as clip,
)
from engine.ops.elementwise import (
    div as div,
)
from engine.ops.elementwise import (
    divide as divide,
)
from engine.ops.elementwise import (
    elu as elu,
)
from engine.ops.elementwise import (
    leaky_relu as leaky_relu,
)
from engine.ops.elementwise import (
    mul as mul,
)
from engine.ops.elementwise import (
    multiply as multiply,
)
from engine.ops.elementwise import (
    neg as neg,
)
from engine.ops.elementwise import (
    negative as negative,
)
from engine.ops.elementwise import (
    pow as pow,
)
from engine.ops.elementwise import (
    sub as sub,
)
from engine.ops.elementwise import (
    subtract as subtract,
)
from engine.ops.elementwise import (
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
    repeat_interleave as repeat_interleave,
    scatter as scatter,
    scatter_add as scatter_add,
    take as take,
    take_along_dim as take_along_dim,
    where as where,
)
from engine.ops.join import (
    cat as cat,
)
from engine.ops.join import (
    chunk as chunk,
)
from engine.ops.join import (
    concat as concat,
)
from engine.ops.join import (
    concatenate as concatenate,
)
from engine.ops.join import (
    hstack as hstack,
)
from engine.ops.join import (
    split as split,
)
from engine.ops.join import (
    split_with_sizes as split_with_sizes,
)
from engine.ops.join import (
    stack as stack,
)
from engine.ops.join import (
    tensor_split as tensor_split,
)
from engine.ops.join import (
    unbind as unbind,
)
from engine.ops.join import (
    unsafe_chunk as unsafe_chunk,
)
from engine.ops.join import (
    unsafe_split as unsafe_split,
)
from engine.ops.join import (
    unsafe_split_with_sizes as unsafe_split_with_sizes,
)
from engine.ops.join import (
    vstack as vstack,
)
from engine.ops.linear import (
    addmm as addmm,
)
from engine.ops.linear import (
    addmv as addmv,
)
from engine.ops.linear import (
    baddbmm as baddbmm,
)
from engine.ops.linear import (
    bmm as bmm,
)
from engine.ops.linear import (
    diag as diag,
)
from engine.ops.linear import (
    dot as dot,
)
from engine.ops.linear import (
    einsum as einsum,
)
from engine.ops.linear import (
    matmul as matmul,
)
from engine.ops.linear import (
    mm as mm,
)
from engine.ops.linear import (
    mv as mv,
)
from engine.ops.linear import (
    outer as outer,
)
from engine.ops.linear import (
    trace as trace,
)
from engine.ops.linear import (
    tril as tril,
)
from engine.ops.linear import (
    triu as triu,
)
from engine.ops.logic import (
    allclose as allclose,
)
from engine.ops.logic import (
    bitwise_and as bitwise_and,
)
from engine.ops.logic import (
    bitwise_not as bitwise_not,
)
from engine.ops.logic import (
    bitwise_or as bitwise_or,
)
from engine.ops.logic import (
    bitwise_xor as bitwise_xor,
)
from engine.ops.logic import (
    eq as eq,
)
from engine.ops.logic import (
    equal as equal,
)
from engine.ops.logic import (
    ge as ge,
)
from engine.ops.logic import (
    greater as greater,
)
from engine.ops.logic import (
    greater_equal as greater_equal,
)
from engine.ops.logic import (
    gt as gt,
)
from engine.ops.logic import (
    isclose as isclose,
)
from engine.ops.logic import (
    isfinite as isfinite,
)
from engine.ops.logic import (
    isinf as isinf,
)
from engine.ops.logic import (
    isnan as isnan,
)
from engine.ops.logic import (
    le as le,
)
from engine.ops.logic import (
    less as less,
)
from engine.ops.logic import (
    less_equal as less_equal,
)
from engine.ops.logic import (
    logical_and as logical_and,
)
from engine.ops.logic import (
    logical_not as logical_not,
)
from engine.ops.logic import (
    logical_or as logical_or,
)
from engine.ops.logic import (
    logical_xor as logical_xor,
)
from engine.ops.logic import (
    lt as lt,
)
from engine.ops.logic import (
    ne as ne,
)
from engine.ops.logic import (
    not_equal as not_equal,
)
from engine.ops.order import (
    amax as amax,
)
from engine.ops.order import (
    amin as amin,
)
from engine.ops.order import (
    argmax as argmax,
)
from engine.ops.order import (
    argmin as argmin,
)
from engine.ops.order import (
    argsort as argsort,
)
from engine.ops.order import (
    max as max,
)
from engine.ops.order import (
    median as median,
)
from engine.ops.order import (
    min as min,
)
from engine.ops.order import (
    sort as sort,
)
from engine.ops.order import (
    topk as topk,
)
from engine.ops.probabilities import (
    log_softmax as log_softmax,
)
from engine.ops.probabilities import (
    logsumexp as logsumexp,
)
from engine.ops.probabilities import (
    softmax as softmax,
)
from engine.ops.reduce import (
    all as all,
)
from engine.ops.reduce import (
    any as any,
)
from engine.ops.reduce import (
    count_nonzero as count_nonzero,
)
from engine.ops.reduce import (
    mean as mean,
)
from engine.ops.reduce import (
    norm as norm,
)
from engine.ops.reduce import (
    prod as prod,
)
from engine.ops.reduce import (
    std as std,
)
from engine.ops.reduce import (
    std_mean as std_mean,
)
from engine.ops.reduce import (
    sum as sum,
)
from engine.ops.reduce import (
    var as var,
)
from engine.ops.reduce import (
    var_mean as var_mean,
)
from engine.ops.scalars import unstack as unstack
from engine.ops.scans import (
    cumprod as cumprod,
)
from engine.ops.scans import (
    cumsum as cumsum,
)
from engine.ops.shape import (
    as_strided as as_strided,
)
from engine.ops.shape import (
    broadcast_shapes as broadcast_shapes,
)
from engine.ops.shape import (
    broadcast_tensors as broadcast_tensors,
)
from engine.ops.shape import (
    broadcast_to as broadcast_to,
)
from engine.ops.shape import (
    clone as clone,
)
from engine.ops.shape import (
    detach_ as detach_,
)
from engine.ops.shape import (
    diagonal as diagonal,
)
from engine.ops.shape import (
    fill_ as fill_,
)
from engine.ops.shape import (
    flatten as flatten,
)
from engine.ops.shape import (
    flip as flip,
)
from engine.ops.shape import (
    fliplr as fliplr,
)
from engine.ops.shape import (
    flipud as flipud,
)
from engine.ops.shape import (
    meshgrid as meshgrid,
)
from engine.ops.shape import (
    moveaxis as moveaxis,
)
from engine.ops.shape import (
    movedim as movedim,
)
from engine.ops.shape import (
    narrow as narrow,
)
from engine.ops.shape import (
    numel as numel,
)
from engine.ops.shape import (
    permute as permute,
)
from engine.ops.shape import (
    ravel as ravel,
)
from engine.ops.shape import (
    reshape as reshape,
)
from engine.ops.shape import (
    roll as roll,
)
from engine.ops.shape import (
    select as select,
)
from engine.ops.shape import (
    squeeze as squeeze,
)
from engine.ops.shape import (
    swapaxes as swapaxes,
)
from engine.ops.shape import (
    swapdims as swapdims,
)
from engine.ops.shape import (
    t as t,
)
from engine.ops.shape import (
    tile as tile,
)
from engine.ops.shape import (
    transpose as transpose,
)
from engine.ops.shape import (
    unflatten as unflatten,
)
from engine.ops.shape import (
    unsqueeze as unsqueeze,
)
from engine.ops.shape import (
    zero_ as zero_,
)
from engine.ops.stepwise import (
    ceil as ceil,
)
from engine.ops.stepwise import (
    fix as fix,
)
from engine.ops.stepwise import (
    floor as floor,
)
from engine.ops.stepwise import (
    floor_divide as floor_divide,
)
from engine.ops.stepwise import (
    fmod as fmod,
)
from engine.ops.stepwise import (
    frac as frac,
)
from engine.ops.stepwise import (
    nan_to_num as nan_to_num,
)
from engine.ops.stepwise import (
    remainder as remainder,
)
from engine.ops.stepwise import (
    round as round,
)
from engine.ops.stepwise import (
    sgn as sgn,
)
from engine.ops.stepwise import (
    sign as sign,
)
from engine.ops.stepwise import (
    trunc as trunc,
)
from engine.printing import set_printoptions as set_printoptions
from engine.random import (
    Generator as Generator,
)
from engine.random import (
    bernoulli as bernoulli,
)
from engine.random import (
    get_rng_state as get_rng_state,
)
from engine.random import (
    initial_seed as initial_seed,
)
from engine.random import (
    manual_seed as manual_seed,
)
from engine.random import (
    multinomial as multinomial,
)
from engine.random import (
    normal as normal,
)
from engine.random import (
    rand as rand,
)
from engine.random import (
    rand_like as rand_like,
)
from engine.random import (
    randint as randint,
)
from engine.random import (
    randint_like as randint_like,
)
from engine.random import (
    randn as randn,
)
from engine.random import (
    randn_like as randn_like,
)
from engine.random import (
    randperm as randperm,
)
from engine.random import (
    seed as seed,
)
from engine.random import (
    set_rng_state as set_rng_state,
)
from engine.registry import rule as rule
from engine.saving import (
    load as load,
)
from engine.saving import (
    save as save,
)
from engine.tensors import Size as Size

habits.value.connect(
    general=graph.general,
    lookup=habits.lookup,
    by_hand=habits.by_hand,
    saved=saving.saved_value,
    restore=saving.rebuild_value,
    elementary=registry.of_values,
    ufunc=tensors.array_ufunc,
)

# Every rule is a function too, unless one of its name with options stands above.
globals().update({name: rule for name, rule in registry.RULES.items() if name not in globals()})
