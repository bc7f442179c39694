from tinygrad import Tensor, dtypes

x = Tensor([1.5, -2.25, 3.0, 100.0, -0.125, 7.0, 8.0, 9.0])
for dtype in (dtypes.half, dtypes.double, dtypes.int8, dtypes.int16, dtypes.int64, dtypes.bool):
  print(dtype.name, ((x.abs().cast(dtype) + 1).cast(dtypes.float) * 2).tolist())
for dtype in (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64):
  print(dtype.name, (x.abs().cast(dtype) * 3 // 2).cast(dtypes.int).tolist())
print(x.bitcast(dtypes.uint32).tolist(), x.half().bitcast(dtypes.uint16).sum().item())
print((x.bitcast(dtypes.uint) >> 23).bitcast(dtypes.float).bitcast(dtypes.int).tolist())
print(Tensor([1, 2, 3, 4], dtype=dtypes.uint8).bitcast(dtypes.uint16).tolist(), (x.half() @ x.half()).dtype)
