import type { MonitTest } from '../../bosh/monit/monit-service.ts';

export type ConnectionTest = Extract<MonitTest, { kind: 'connection' }>;

/** What rules ask of the machine beside its processes. */
export interface Probes {
  /** Undefined where there is no plain file. */
  file(path: string): Promise<{ readonly changedAt: number } | undefined>;
  /** The digest of a file's content. Throws where it cannot be read safely. */
  checksum(path: string): Promise<string>;
  /** What went wrong with a connection, and the request where there is one; undefined: nothing. */
  connect(test: ConnectionTest): Promise<string | undefined>;
  /** Of 1, 5 and 15 minutes. */
  loadAverages(): readonly number[];
  readonly memoryKilobytes: number;
  readonly processors: number;
}
