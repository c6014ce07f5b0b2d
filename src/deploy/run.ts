import type { Clock } from './clock.ts';
import type { CpiClient } from './cpi/cloud.ts';
import type { AgentClient } from '../bosh/agent-client/agent-client.ts';
import type { EnvOptions } from './options.ts';
import type { PendingFile } from './state/pending-file.ts';
import type { StateFile } from './state/state-file.ts';

/** The dependencies of a step that only talks to the agent. */
export type AgentRun = Pick<Run, 'agent' | 'state' | 'clock' | 'signal' | 'commandInVm' | 'warn'>;

/** The dependencies of every step of a run. */
export interface Run {
  readonly cloud: CpiClient;
  readonly agent: AgentClient;
  readonly state: StateFile;
  readonly pending: PendingFile;
  readonly clock: Clock;
  readonly uuid: () => string;
  readonly signal: AbortSignal | undefined;
  readonly commandInVm: EnvOptions['commandInVm'];
  /** Reports a problem that does not end the run. */
  readonly warn: (message: string) => void;
}
