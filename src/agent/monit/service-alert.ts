import type { MonitAction, MonitService } from '../../bosh/monit/monit-service.ts';

/** monit's names of failed rules (monit: src/event.c, Event_Table). */
export type RuleProblem =
  | 'Checksum changed'
  | 'Connection failed'
  | 'PID changed'
  | 'PPID changed'
  | 'Resource limit matched'
  | 'Timestamp changed';

/** monit's names of the problems of a service. */
export type ServiceProblem = RuleProblem | 'Does not exist' | 'Execution failed';

/** A problem of a service, as monit reports it to the health monitor. */
export interface ServiceAlert {
  readonly service: string;
  /** `Timeout`: a limit of restarts is reached. */
  readonly event: ServiceProblem | 'Timeout';
  /** What is done about it, for example `restart`. */
  readonly action: MonitAction['kind'];
}

/**
 * Returns the alert for an event and the action that its rule has. Passive mode prevents start, stop and
 * restart, for which monit reports `alert`.
 */
export function serviceAlert(
  { name, mode }: Pick<MonitService, 'name' | 'mode'>,
  event: ServiceAlert['event'],
  action: MonitAction['kind'],
): ServiceAlert {
  const isPrevented = mode === 'passive' && ['start', 'stop', 'restart'].includes(action);
  return { service: name, event, action: isPrevented ? 'alert' : action };
}
