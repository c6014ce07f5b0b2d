/**
 * Runs `work` while `background` runs. Both have ended when the promise settles. The error of `work` takes
 * precedence.
 */
export async function runInParallel<T>(background: Promise<void>, work: () => Promise<T>): Promise<T> {
  const [result, other] = await Promise.allSettled([work(), background]);
  if (result.status === 'rejected') throw result.reason;
  if (other.status === 'rejected') throw other.reason;
  return result.value;
}
