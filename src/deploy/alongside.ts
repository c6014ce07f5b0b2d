/** Does `work` while `background` goes on; both have ended when it settles, and the work's error comes first. */
export async function runInParallel<T>(background: Promise<void>, work: () => Promise<T>): Promise<T> {
  const [result, other] = await Promise.allSettled([work(), background]);
  if (result.status === 'rejected') throw result.reason;
  if (other.status === 'rejected') throw other.reason;
  return result.value;
}
