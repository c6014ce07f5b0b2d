import type { Clock } from './clock.ts';

/** Shows one line of a terminal until the next call replaces it; an empty text removes it. */
export type LiveLine = (text: string, end?: string) => void;

/** Receives the bytes that were transferred so far, of `total` if that is known. */
export type OnBytes = (done: number, total?: number) => void;

const interval = 1000;

/**
 * Shows `text` while `action` runs: after a second with the elapsed time, and with the bytes of a transfer.
 * The line is removed at the end.
 */
export async function showProgress<T>(
  { live, clock }: { readonly live: LiveLine; readonly clock: Clock },
  text: string,
  action: (onBytes: OnBytes) => Promise<T>,
): Promise<T> {
  const start = clock.now();
  const ended = new AbortController();
  let bytes = '';
  const draw = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      const elapsed = clock.now() - start;
      live(text, elapsed < interval ? '' : ` ${formatDuration(elapsed)}${bytes}`);
      await clock.sleep(interval, ended.signal);
    }
  };
  const drawing = draw();
  try {
    return await action((done, total) => (bytes = `, ${formatBytes(done, total)}`));
  } finally {
    ended.abort();
    await drawing;
    live('');
  }
}

/** Passes chunks on and reports their bytes. Begins at 0 for each source, as a transfer that is repeated. */
export function countBytes(
  onBytes: OnBytes | undefined,
  total?: number,
): (source: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array> {
  return async function* passOn(source) {
    let done = 0;
    for await (const chunk of source) {
      done += chunk.length;
      onBytes?.(done, total);
      yield chunk;
    }
  };
}

/** Formats a duration as HH:MM:SS, rounded down to seconds. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

const mebibyte = 1024 * 1024;

/** Formats for example `1.5 MiB` or `1.5 of 20.0 MiB`. */
function formatBytes(done: number, total: number | undefined): string {
  const of = total === undefined ? '' : ` of ${(total / mebibyte).toFixed(1)}`;
  return `${(done / mebibyte).toFixed(1)}${of} MiB`;
}
