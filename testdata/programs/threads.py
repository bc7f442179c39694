import threading
from tinygrad import Tensor

results = {}
def work(n): results[n] = (Tensor.arange(n * n).reshape(n, n).float().contiguous() @ Tensor.ones(n, 3)).sum().item()
threads = [threading.Thread(target=work, args=(n,)) for n in (3, 4, 5, 6)]
for thread in threads:  # one after the other, because tinygrad is not thread-safe
  thread.start()
  thread.join()
print(sorted(results.items()))
