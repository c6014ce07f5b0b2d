/** The environment, output and stop signal of a command of the broker. */
export interface CommandIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  /** Aborted when the broker has to stop. */
  readonly signal: AbortSignal;
  /** True if the output goes to a terminal, so that a user can paste the printed lines. */
  readonly isTerminal: boolean;
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}
