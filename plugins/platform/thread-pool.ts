import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, type ResourceLimits, Worker } from 'node:worker_threads';

/**
 * Dedicated threads for work that would block requests. They start when they are first needed, and do not keep the process alive
 * while they are idle. The threads of libuv remain free for files and DNS lookups.
 */
export interface ThreadPool<Task, Result> {
  /**
   * Gives a task to the thread with the fewest tasks. A thread that has two tasks receives the next one before it has finished the
   * current one, so it never waits for the main thread, which is busy with requests.
   * @throws an error if the task fails or the thread ends; the next task starts a new thread if necessary
   */
  run(task: Task): Promise<Result>;
  /** Ends the threads. Unfinished and later tasks fail. */
  close(): Promise<void>;
}

interface Numbered<Task> {
  number: number;
  task: Task;
}

/** A thread's response to a task. */
type Answer<Result> = { number: number } & ({ result: Result } | { error: unknown });

interface PendingTask<Result> {
  resolve(result: Result): void;
  reject(error: unknown): void;
}

interface Thread<Result> {
  worker: Worker;
  /** Keyed by task number. */
  askers: Map<number, PendingTask<Result>>;
}

const ended = () => new Error('A background thread has ended.');

/**
 * @param program the script that the threads run, which calls {@link performTasks}
 * @param options the maximum number of threads, and what each of them gets
 */
export function createThreadPool<Task, Result>(
  program: URL,
  { count, ...options }: { count: number; resourceLimits: ResourceLimits; workerData?: unknown },
): ThreadPool<Task, Result> {
  const threads = new Set<Thread<Result>>();
  let tasks = 0;
  let isClosed = false;

  const start = (): Thread<Result> => {
    // The threads get neither the modules that the process preloads nor its environment, which contains secrets.
    const worker = new Worker(program, { ...options, execArgv: [], env: {} });
    const thread: Thread<Result> = { worker, askers: new Map() };
    threads.add(thread);
    const rejectAll = (error: Error) => {
      threads.delete(thread);
      for (const { reject } of thread.askers.values()) reject(error);
      thread.askers.clear();
    };
    worker
      .on('message', (answer: Answer<Result>) => {
        const asker = thread.askers.get(answer.number);
        thread.askers.delete(answer.number);
        if (thread.askers.size === 0) worker.unref();
        if ('error' in answer) asker?.reject(answer.error);
        else asker?.resolve(answer.result);
      })
      .on('messageerror', () => void worker.terminate())
      .on('error', rejectAll)
      .on('exit', () => rejectAll(ended()));
    return thread;
  };

  const choose = (): Thread<Result> => {
    const [first, ...others] = threads;
    if (!first) return start();
    const least = others.reduce((one, other) => (other.askers.size < one.askers.size ? other : one), first);
    return least.askers.size > 0 && threads.size < count ? start() : least;
  };

  return {
    run: (task) =>
      new Promise((resolve, reject) => {
        if (isClosed) throw ended();
        const { worker, askers } = choose();
        const number = tasks++;
        worker.ref();
        worker.postMessage({ number, task } satisfies Numbered<Task>);
        askers.set(number, { resolve, reject });
      }),
    close: async () => {
      isClosed = true;
      await Promise.all([...threads].map(({ worker }) => worker.terminate()));
    },
  };
}

/** Called by the script of a thread: performs the thread's tasks, one at a time, in the order of arrival. */
export function performTasks<Task, Result>(perform: (task: Task) => Result): void {
  const answer = ({ number, task }: Numbered<Task>): Answer<Result> => {
    try {
      return { number, result: perform(task) };
    } catch (error) {
      return { number, error };
    }
  };
  lowerThreadPriority();
  parentPort?.on('message', (task: Numbered<Task>) => parentPort?.postMessage(answer(task)));
}

/** The niceness of a background thread. Any other thread that needs the same CPU gets about nine tenths of it. */
const niceness = 10;

/**
 * Gives precedence to other threads when all CPUs are busy, so that requests, and a database on the same machine, remain fast.
 * While a CPU is idle, this slows nothing down. It has an effect only on Linux, where each thread has its own priority
 * (setpriority(2)).
 */
function lowerThreadPriority(): void {
  try {
    // This link resolves to the current thread.
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), niceness);
  } catch {
    // In a sandbox, there may be no /proc, or no permission to change priorities. The priority is only an optimization.
  }
}
