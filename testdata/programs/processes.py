import multiprocessing, sys

def work(n):
  from tinygrad import Tensor
  return (Tensor.ones(n, n).contiguous() @ Tensor.full((n, n), 2.0).contiguous()).sum().item()

def queued(queue): queue.put(work(6))

if __name__ == "__main__":
  for way in ("fork", "spawn" if hasattr(sys.modules["__main__"], "__file__") else "fork"):  # spawn needs a file
    context = multiprocessing.get_context(way)
    with context.Pool(2) as pool: print(pool.map(work, [4, 5, 7, 8]))
    queue = context.Queue()
    process = context.Process(target=queued, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
  print(work(9))
