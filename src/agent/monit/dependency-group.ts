import type { MonitAction } from '../../bosh/monit/monit-service.ts';
import { errorMessage } from '../file/error-code.ts';
import { describeExit } from '../process/programs.ts';
import type { SupervisedService } from './supervised-service.ts';
import type { SupervisionPorts } from './supervision-ports.ts';

/** The actions of the `monit` command. */
export type ServiceAction = 'start' | 'stop' | 'restart' | 'monitor' | 'unmonitor';

const pollMilliseconds = 1000;
// The cycle of stemcells (bosh-linux-stemcell-builder: stages/bosh_monit).
const cycleMilliseconds = 10_000;

interface Request {
  /** Undefined for all services of the group. */
  readonly service: SupervisedService | undefined;
  readonly action: ServiceAction;
}

interface Loop {
  readonly cancel: AbortController;
  readonly done: Promise<void>;
}

/**
 * Services that depend on each other, in start order. The group runs one task at a time, as monit does:
 * requested actions, liveness checks (every second) and rules (every cycle). Groups run in parallel.
 */
export class DependencyGroup {
  readonly services: readonly SupervisedService[];
  readonly #ports: SupervisionPorts;
  readonly #requests: Request[] = [];
  readonly #nextCycle = new Map<SupervisedService, number>();
  #loop: Loop | undefined;
  #pause = new AbortController();
  #isStopping = false;

  constructor(services: readonly SupervisedService[], ports: SupervisionPorts) {
    this.services = services;
    this.#ports = ports;
  }

  /** Starts every service that is not up, and monitors all. */
  start(): void {
    for (const service of this.services) service.monitor();
    this.#requests.push({ service: undefined, action: 'start' });
    this.#wake();
  }

  /**
   * Monitors the services again that were monitored before the agent ended. A service that is down is
   * started.
   */
  resume(): void {
    const watched = this.services.filter(
      ({ definition, isUserStopped }) => definition.mode !== 'manual' && !isUserStopped,
    );
    for (const service of watched) service.monitor();
    this.#wake();
  }

  /**
   * Queues an action, which runs when the current task has ended. Returns false if another action for the
   * service is queued already or if the group is stopping.
   */
  request(service: SupervisedService, action: ServiceAction): boolean {
    if (this.#isStopping || this.#requests.some((one) => one.service === service)) return false;
    this.#requests.push({ service, action });
    this.#wake();
    return true;
  }

  /** Returns the action that is queued for a service. */
  pending(service: SupervisedService): ServiceAction | undefined {
    const waiting =
      this.#requests.find((one) => one.service === service) ??
      this.#requests.find((one) => one.service === undefined);
    return waiting?.action;
  }

  /** Stops monitoring. Does not change the services. */
  async unmonitor(): Promise<void> {
    this.#requests.length = 0;
    this.#loop?.cancel.abort();
    this.#pause.abort();
    await this.#loop?.done;
    for (const service of this.services) service.unmonitor();
  }

  /** Stops these services in reverse start order. Tries all of them, then throws the first error. */
  async stop(services = this.services): Promise<void> {
    this.#isStopping = true;
    const failures: unknown[] = [];
    try {
      await this.unmonitor();
      for (const service of services.toReversed())
        await service.stop().catch((error: unknown) => failures.push(error));
    } finally {
      this.#isStopping = false;
    }
    if (failures.length > 0) throw failures[0];
  }

  #wake(): void {
    this.#pause.abort();
    if (this.#loop !== undefined) return;
    const cancel = new AbortController();
    this.#loop = { cancel, done: this.#run(cancel.signal) };
  }

  async #run(signal: AbortSignal): Promise<void> {
    // Yield, so that #loop is set before this function can end.
    await Promise.resolve();
    while (!signal.aborted) {
      const [request] = this.#requests;
      if (request !== undefined) {
        const { service, action } = request;
        if (service === undefined) await this.#startAll(this.services, signal);
        else await this.#catchErrors(service, () => this.#applyAction(service, action, signal));
        if (this.#requests[0] === request) this.#requests.shift();
        continue;
      }
      if (!this.services.some(({ isMonitored }) => isMonitored)) break;
      for (const service of this.services)
        await this.#catchErrors(service, () => this.#checkService(service, signal));
      if (this.#requests.length > 0 || signal.aborted) continue;
      this.#pause = new AbortController();
      await this.#ports.clock.sleep(pollMilliseconds, this.#pause.signal);
    }
    this.#loop = undefined;
  }

  // Errors must not end the supervisor. The state shows them until the next check succeeds.
  async #catchErrors(service: SupervisedService, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      service.markFailed(errorMessage(error));
    }
  }

  async #checkService(service: SupervisedService, signal: AbortSignal): Promise<void> {
    if (!service.isMonitored || signal.aborted) return;
    const isDue = this.#ports.clock.now() >= (this.#nextCycle.get(service) ?? 0);
    if (isDue) {
      this.#beginCycle(service);
      await this.#ports.rotate(service.definition.name);
      const limits = service.restarts.nextCycle();
      for (const { action, isNewFailure } of limits) if (isNewFailure) service.alert('Timeout', action.kind);
      await this.#actAll(
        service,
        limits.map(({ action }) => action),
        signal,
      );
    } else if (!isPolledEverySecond(service)) return;
    if (!service.isMonitored) return;
    const { live, problem } = await service.check();
    if (problem !== undefined) return this.#handleMissing(service, problem, signal);
    await service.markUp(live);
    const recovery = service.existence?.record('passed');
    if (recovery !== undefined) await this.#runAction(service, recovery.action, signal);
    if (isDue) await this.#actAll(service, await service.checks.evaluate(live), signal);
  }

  async #handleMissing(service: SupervisedService, problem: string, signal: AbortSignal): Promise<void> {
    const { existence, definition } = service;
    const isRestarted = existence === undefined && definition.mode !== 'passive';
    await service.markDown(problem, isRestarted);
    const due = existence?.record('failed');
    if (due?.isNewFailure === true) service.alert('Does not exist', due.action.kind);
    if (due !== undefined) await this.#runAction(service, due.action, signal);
    else if (isRestarted && service.isStartAllowed())
      await this.#runAction(service, { kind: 'restart' }, signal);
  }

  /** An action may unmonitor the service. The remaining actions are skipped then. */
  async #actAll(
    service: SupervisedService,
    actions: readonly MonitAction[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const action of actions) {
      if (!service.isMonitored || signal.aborted) return;
      await this.#runAction(service, action, signal);
    }
  }

  #beginCycle(service: SupervisedService): void {
    this.#nextCycle.set(service, this.#ports.clock.now() + cycleMilliseconds * service.definition.every);
  }

  /** Runs the action of a rule. */
  async #runAction(service: SupervisedService, action: MonitAction, signal: AbortSignal): Promise<void> {
    const { definition } = service;
    if (action.kind === 'alert') return;
    if (action.kind === 'exec') {
      const [file] = action.program.arguments;
      this.#ports.log.info(`${service.label}: exec ${file}`);
      void this.#ports.launch(definition, action.program, 'Executed').exit.then((exit) => {
        if (exit.code !== 0) this.#ports.log.error(`${service.label}: ${file} ${describeExit(exit)}`);
      });
      return;
    }
    if (action.kind !== 'unmonitor') {
      if (action.kind !== 'stop') service.restarts.recordRestart();
      if (definition.mode === 'passive') return;
    }
    await this.#applyAction(service, action.kind, signal);
  }

  /**
   * Applies an action to a service, and what it implies to the services that depend on it (monit:
   * src/control.c, control_service).
   */
  async #applyAction(service: SupervisedService, action: ServiceAction, signal: AbortSignal): Promise<void> {
    const dependants = this.#dependantsOf(service);
    switch (action) {
      case 'start': {
        const isRunning = (await service.find()) !== undefined;
        if (!isRunning) await this.#stopAll(dependants);
        return this.#startAll(isRunning ? [service] : [service, ...dependants], signal);
      }
      case 'restart':
        await this.#stopAll([service, ...dependants]);
        return this.#startAll([service, ...dependants], signal);
      case 'stop':
        await this.#stopAll([service, ...dependants]);
        return this.#markUserStopped([service, ...dependants]);
      case 'unmonitor':
        return this.#markUserStopped([service, ...dependants]);
      case 'monitor':
        for (const needed of [...this.#dependenciesOf(service), service]) {
          needed.monitor();
          await needed.setUserStopped(false);
        }
    }
  }

  async #stopAll(services: readonly SupervisedService[]): Promise<void> {
    for (const service of services.toReversed()) {
      await service.stop();
      service.resetRules({ isRestart: true });
    }
  }

  async #markUserStopped(services: readonly SupervisedService[]): Promise<void> {
    for (const service of services) {
      service.unmonitor();
      await service.setUserStopped(true);
    }
  }

  /** Starts services, and before each its dependencies. If one fails, the next one is still started. */
  async #startAll(services: readonly SupervisedService[], signal: AbortSignal): Promise<void> {
    const affected = new Set(services.flatMap((service) => [...this.#dependenciesOf(service), service]));
    for (const service of affected) {
      if (signal.aborted) return;
      service.monitor();
      await service.setUserStopped(false);
      const live = await service.find();
      if (live === undefined) await this.#catchErrors(service, () => service.start(signal));
      else await service.markUp(live);
      this.#beginCycle(service);
    }
  }

  /** Returns the services that depend on a service, directly or indirectly, in start order. */
  #dependantsOf({ definition }: SupervisedService): readonly SupervisedService[] {
    const names = new Set([definition.name]);
    const found = this.services.filter((other) => {
      const depends = other.definition.dependsOn.some((name) => names.has(name));
      if (depends) names.add(other.definition.name);
      return depends;
    });
    return found;
  }

  /** Returns the services that a service depends on, directly or indirectly, in start order. */
  #dependenciesOf({ definition }: SupervisedService): readonly SupervisedService[] {
    const names = new Set(definition.dependsOn);
    const found = this.services.toReversed().filter((other) => {
      if (!names.has(other.definition.name)) return false;
      for (const name of other.definition.dependsOn) names.add(name);
      return true;
    });
    return found.toReversed();
  }
}

/**
 * Returns true if the service is checked every second and not only once per cycle. A check of a pidfile is
 * cheap.
 */
function isPolledEverySecond({ definition, existence }: SupervisedService): boolean {
  return definition.subject.kind === 'pidfile' && definition.every === 1 && existence === undefined;
}
