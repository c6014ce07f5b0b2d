/** The data of a log line. Callers replace secrets by REDACTED. */
type LogData = Readonly<Record<string, unknown>>;

/** The driver's log: one JSON object per line, with the keys of lager, which the old drivers used. */
export interface DriverLog {
  info(message: string, data?: LogData): void;
  error(message: string, error: unknown, data?: LogData): void;
}

/** Returns a log for `source`. If no real share is mounted, each line contains `replacement`. */
export function driverLog(
  write: (line: string) => void,
  {
    source,
    now,
    replacement: localBindNote,
  }: { source: string; now: () => Date; replacement?: string | undefined },
): DriverLog {
  const line = (level: string, message: string, data: LogData): void =>
    write(
      `${JSON.stringify({
        timestamp: now().toISOString(),
        level,
        source,
        message: `${source}.${message}`,
        data: { ...(localBindNote === undefined ? {} : { stand_in: localBindNote }), ...data },
      })}\n`,
    );
  return {
    info: (message, data = {}) => line('info', message, data),
    error: (message, error, data = {}) =>
      line('error', message, { error: error instanceof Error ? error.message : String(error), ...data }),
  };
}

const redacted = '*REDACTED*';

/**
 * Returns options for the log. Redacts the value of each key whose name suggests a secret, so that an option
 * which becomes secret one day is hidden, too.
 */
export function withoutSecrets(options: Readonly<Record<string, unknown>>): LogData {
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => [
      key,
      /pass|pwd|secret|token|key/iu.test(key) ? redacted : value,
    ]),
  );
}
