from tinygrad import Tensor

x = Tensor.arange(24).reshape(2, 3, 4).contiguous().realize()
print(x.permute(2, 0, 1).contiguous().tolist()[1], x.flip(1).tolist()[0][0])
print(x.pad(((0, 0), (1, 1), (0, 2))).sum(2).tolist(), x.shrink(((0, 1), (1, 3), (1, 2))).tolist())
print(Tensor.cat(x[0], x[1] * 2, dim=1).tolist()[2], Tensor.stack(x[0], x[1]).sum(0).tolist()[0])
print(x.roll(1, -1).tolist()[0][0], x[:, [2, 0]].tolist()[1], x[..., ::2].sum().item())
print(x.gather(1, Tensor([[[0, 1, 2, 0]], [[2, 1, 0, 2]]])).tolist(), x.repeat((1, 2, 1)).shape)
print(x[Tensor([1, 0]), Tensor([2, 2])].tolist(), x.unfold(2, 2, 1).sum().item(), x[0, :, :3].diagonal().tolist())
print(Tensor.eye(3).tolist(), x[0].triu().tolist(), x.split(2, 1)[0].shape, x.masked_select(x > 20).tolist())
