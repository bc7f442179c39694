from tinygrad import Tensor, nn

class Block:
  def __init__(self, dim, heads):
    self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
    self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

  def __call__(self, x):
    b, t, d = x.shape
    heads = self.qkv(self.norm(x)).reshape(b, t, 3, self.heads, d // self.heads)
    q, k, v = (heads[:, :, i].transpose(1, 2) for i in range(3))
    x = x + self.out(q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
    return x + self.down(self.up(self.norm(x)).gelu())

Tensor.manual_seed(5)
tokens = Tensor([[3, 1, 4, 1, 5]])
x = Block(16, 2)(nn.Embedding(10, 16)(tokens))
print(x.shape, nn.RMSNorm(16)(x).square().mean().numpy().round(2))
