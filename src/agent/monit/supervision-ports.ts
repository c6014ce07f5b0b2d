import type { MonitProgram, MonitService } from '../../bosh/monit/monit-service.ts';
import type { StartedProgram } from '../process/program.ts';
import type { SupervisionRecord } from './identity-file.ts';
import type { RuleCheckPorts } from './rule-checks.ts';

/** What supervised services touch of the machine. */
export interface SupervisionPorts extends RuleCheckPorts {
  /** Starts a program of a service in a session of its own. */
  readonly launch: (
    service: MonitService,
    program: MonitProgram,
    event: string,
    mark?: string,
  ) => StartedProgram;
  /** Keeps what its programs print from growing without end. */
  readonly rotate: (name: string) => Promise<void>;
  readonly newMark: () => string;
  /** Keeps what is known of a service over a restart of the agent. */
  readonly remember: (name: string, record: SupervisionRecord) => Promise<void>;
}
