from tinygrad import Tensor, dtypes

a, b = (Tensor.arange(16 * 24).reshape(16, 24) % 5).float(), (Tensor.arange(24 * 8).reshape(24, 8) % 3).float()
print((a @ b).sum().item(), (a.half() @ b.half()).float().max().item())
print(a.reshape(2, 8, 24).matmul(b).sum((1, 2)).tolist())
print(Tensor.einsum("ij,jk,k->i", a, b, b[0])[:3].tolist())
print(a.cast(dtypes.int).dot(b.cast(dtypes.int)).tolist()[1])
print(a.matmul(b[:, 0]).tolist()[:4], (a[:1] @ b).relu().tolist())
