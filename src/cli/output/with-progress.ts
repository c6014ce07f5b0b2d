import { systemClock } from '../../platform/clock.ts';
import { showProgress, type OnBytes } from '../../platform/live-progress.ts';
import type { Terminal } from './terminal.ts';

/** Shows on a terminal that `action` runs, with the elapsed time and bytes. Writes nothing elsewhere. */
export function withLiveProgress<T>(
  { display }: Pick<Terminal, 'display'>,
  text: string,
  action: (onBytes?: OnBytes) => Promise<T>,
): Promise<T> {
  return display === undefined
    ? action()
    : showProgress({ live: display.live, clock: systemClock }, `${text}...`, action);
}

/** Like withLiveProgress. On a pipe, writes one line to stderr, so that a log shows what takes long. */
export function withProgress<T>(
  terminal: Pick<Terminal, 'display' | 'structured' | 'error'>,
  text: string,
  action: (onBytes?: OnBytes) => Promise<T>,
): Promise<T> {
  if (terminal.display === undefined && terminal.structured === undefined) terminal.error(`${text}...`);
  return withLiveProgress(terminal, text, action);
}
