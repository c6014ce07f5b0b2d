import type { MonitService } from '../../bosh/monit/monit-service.ts';
import type { SupervisionRecord } from '../monit/supervision-state.ts';
import { DependencyGroup } from '../monit/dependency-group.ts';
import { type ProcessState, SupervisedService } from '../monit/supervised-service.ts';
import type { SupervisionPorts } from '../monit/supervision-ports.ts';
import type { LiveProcess } from '../process/process-table.ts';

/** A service without dependencies. */
export interface WatchedService {
  readonly definition: MonitService;
  readonly state: ProcessState;
  find(): Promise<LiveProcess | undefined>;
  watch(): void;
  unwatch(): Promise<void>;
  stop(): Promise<void>;
}

export function watchedService(
  definition: MonitService,
  ports: SupervisionPorts,
  record: SupervisionRecord,
): WatchedService {
  const service = new SupervisedService(definition, ports, record);
  const group = new DependencyGroup([service], ports);
  return {
    definition,
    get state() {
      return service.state;
    },
    find: () => service.find(),
    watch: () => group.resume(),
    unwatch: () => group.unmonitor(),
    stop: () => group.stop(),
  };
}
