/** A line's data; secrets are not handed in but as REDACTED. */
export type LogData = Readonly<Record<string, unknown>>;

/** The driver's log: one JSON object a line, with the keys of lager, which the old drivers wrote. */
export interface DriverLog {
  info(message: string, data?: LogData): void;
  error(message: string, error: unknown, data?: LogData): void;
}

/** A log of `source`; `standIn` is said on each line where no real share is mounted. */
export function driverLog(
  write: (line: string) => void,
  { source, now, standIn: localBindNote }: { source: string; now: () => Date; standIn?: string | undefined },
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
 * Options as the log shows them: all but names of users and hosts could be secret one day, so few are shown.
 */
export function withoutSecrets(options: Readonly<Record<string, unknown>>): LogData {
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => [
      key,
      /pass|pwd|secret|token|key/iu.test(key) ? redacted : value,
    ]),
  );
}
