import type { MonitTest } from '../../bosh/monit/monit-service.ts';

export type ConnectionTest = Extract<MonitTest, { kind: 'connection' }>;

/** The facts about the machine that rules check, besides its processes. */
export interface Probes {
  /** Returns undefined if the path is not a plain file. */
  file(path: string): Promise<{ readonly changedAt: number } | undefined>;
  /** Returns the digest of a file's content. Throws if the file cannot be read safely. */
  checksum(path: string): Promise<string>;
  /** Connects, and sends the request if the test has one. Returns the error, or undefined on success. */
  connect(test: ConnectionTest): Promise<string | undefined>;
  /** The load averages of 1, 5 and 15 minutes. */
  loadAverages(): readonly number[];
  readonly memoryKilobytes: number;
  readonly processors: number;
}
