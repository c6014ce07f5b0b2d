import type { MonitService } from '../../bosh/monit/monit-service.ts';
import { ProductError } from '../../errors/product-error.ts';
import { waitUntilEnded, type LiveProcess } from '../process/process-table.ts';
import { describeExit, type StartedProgram } from '../process/programs.ts';
import type { SupervisionPorts } from './supervision-ports.ts';

/** How long a stop program may still run after its process has ended. monit checks that once a second. */
const stopProgramMilliseconds = 5000;
const killWaitMilliseconds = 5000;
const defaultStopSeconds = 30;

interface StoppedService {
  readonly definition: MonitService;
  /** The name of the service in messages. */
  readonly label: string;
}

/**
 * Stops the process of a service: runs its stop program, or sends SIGTERM if it has none. Sends SIGKILL to a
 * process that is still running after the program's timeout, but only if it is the service's own. Throws
 * AGENT_JOB_FAILED if it is still running after that.
 */
export async function stopProcess(
  { definition, label }: StoppedService,
  { live, isOwn }: { readonly live: LiveProcess; readonly isOwn: boolean },
  ports: SupervisionPorts,
): Promise<void> {
  const { stop } = definition;
  const { table, log } = ports;
  log.info(`${label}: stopping pid ${live.pid}`);
  const program = stop === undefined ? undefined : ports.launch(definition, stop, 'Stopped');
  if (program === undefined && isOwn) await table.signal(live, 'SIGTERM');
  if (await waitUntilEnded(ports, live, (stop?.timeoutSeconds ?? defaultStopSeconds) * 1000))
    return waitForStopProgram(program, ports);
  if (!isOwn) {
    const cause = 'its start program did not start it, so it is not killed';
    throw new ProductError('AGENT_JOB_FAILED', `${label} (pid ${live.pid}) did not end: ${cause}`);
  }
  log.error(`${label}: pid ${live.pid} did not end in time, killing it`);
  await table.signal(live, 'SIGKILL');
  if (await waitUntilEnded(ports, live, killWaitMilliseconds)) return;
  throw new ProductError('AGENT_JOB_FAILED', `${label} (pid ${live.pid}) is still running after SIGKILL`);
}

/** Runs the stop program of a service that is not a process, and kills it after its timeout. */
export async function runStopProgram(
  { definition, label }: StoppedService,
  { clock, launch, log }: SupervisionPorts,
): Promise<void> {
  const { stop } = definition;
  if (stop === undefined) return;
  log.info(`${label}: stopping`);
  const program = launch(definition, stop, 'Stopped');
  const ended = new AbortController();
  const late = clock.sleep(stop.timeoutSeconds * 1000, ended.signal).then(() => program.signal('SIGKILL'));
  const exit = await program.exit;
  ended.abort();
  await late;
  if (exit.code !== 0) log.error(`${label}: its stop program ${describeExit(exit)}`);
}

/**
 * Waits for the stop program. Many stop programs remove the pidfile at their end, and would remove the
 * pidfile of a start at the same time.
 */
async function waitForStopProgram(
  program: StartedProgram | undefined,
  { clock }: SupervisionPorts,
): Promise<void> {
  if (program === undefined) return;
  const ended = new AbortController();
  await Promise.race([program.exit, clock.sleep(stopProgramMilliseconds, ended.signal)]);
  ended.abort();
}
