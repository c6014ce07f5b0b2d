import type { MonitProgram, MonitService } from '../../bosh/monit/monit-service.ts';
import type { StartedProgram } from '../process/programs.ts';
import type { SupervisionRecord } from './supervision-state.ts';
import type { RuleCheckPorts } from './rule-checks.ts';

/** The parts of the machine that supervised services use. */
export interface SupervisionPorts extends RuleCheckPorts {
  /** Starts a program of a service in a session of its own. */
  readonly launch: (
    service: MonitService,
    program: MonitProgram,
    event: string,
    mark?: string,
  ) => StartedProgram;
  /** Limits the size of the output of its programs. */
  readonly rotate: (name: string) => Promise<void>;
  readonly newMark: () => string;
  /** Returns the launch mark of the scripts of a job; undefined if none has run. */
  readonly scriptMark: (job: string) => string | undefined;
  /** Stores the record of a service for a restart of the agent. */
  readonly remember: (name: string, record: SupervisionRecord) => Promise<void>;
}
