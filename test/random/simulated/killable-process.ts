import type { Clock } from '../../../src/platform/clock.ts';
import type { KubernetesApi, WatchEvent } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { CallContext } from '../../../src/cpi/call.ts';

/** The interruption of a process, at a number of its requests, or only of those that may change an object. */
export interface Fate {
  readonly counts?: 'requests' | 'writes' | undefined;
  /** Killed after that many requests, before it sees the response. */
  readonly killedAfter?: number | undefined;
  /** Stopped before that request, until it is continued. */
  readonly stoppedBefore?: number | undefined;
}

/** Decides when a process continues, and which time it sees. */
export interface Surroundings {
  readonly steps: {
    when(label: string, isReady: () => boolean): Promise<void>;
    note(message: string): void;
  };
  readonly clock: {
    of(owner: object): Clock;
    forget(owner: object): void;
  };
}

const isRead = (note: string): boolean => /^(get|list|try) /u.test(note);

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** A CPI process: each of its requests is a step, and it can be killed or stopped between two of them. */
export class KillableProcess {
  readonly name: string;
  readonly #steps: Surroundings['steps'];
  readonly #clock: Surroundings['clock'];
  readonly #fate: Fate;
  readonly #killed = new AbortController();
  readonly #whenKilled = Promise.withResolvers<void>();
  readonly #whenStopped = Promise.withResolvers<void>();
  #requests = 0;
  #isStopped = false;
  #wasStopped = false;

  constructor(name: string, { steps, clock }: Surroundings, fate: Fate) {
    this.name = name;
    this.#steps = steps;
    this.#clock = clock;
    this.#fate = fate;
  }

  get isKilled(): boolean {
    return this.#killed.signal.aborted;
  }

  /** Resolves when the process is killed. */
  get whenKilled(): Promise<void> {
    return this.#whenKilled.promise;
  }

  /** Resolves when the process is stopped. */
  get whenStopped(): Promise<void> {
    return this.#whenStopped.promise;
  }

  /** Continues the process, like SIGCONT. */
  continue(): void {
    this.#isStopped = false;
  }

  /** Returns the call context of the process. */
  cloudOf(cloud: CallContext): CallContext {
    return {
      ...cloud,
      api: this.#api(cloud.api),
      clock: this.#aliveClock(),
      exec: (command) =>
        this.request(`exec ${command.command[3] ?? ''} in ${command.pod}`, () => cloud.exec(command)),
    };
  }

  /** Returns the result as a step of its own. Never resolves if the process was killed before. */
  async answer<T>(describe: (value: T) => string, work: Promise<T>): Promise<T> {
    try {
      const value = await work;
      await this.#turn(`answers ${describe(value)}`);
      return value;
    } catch (error) {
      await this.#turn(`fails: ${error instanceof Error ? error.message.slice(0, 160) : String(error)}`);
      throw error;
    }
  }

  async request<T>(message: string, send: () => Promise<T>): Promise<T> {
    const isCounted = this.#fate.counts !== 'writes' || !isRead(message);
    await this.#turn(message, isCounted);
    if (isCounted) this.#requests += 1;
    const sent = send();
    if (isCounted && this.#requests === this.#fate.killedAfter) {
      sent.catch(() => undefined);
      this.#kill();
      return never();
    }
    try {
      const answer = await sent;
      return this.isKilled ? await never<T>() : answer;
    } catch (error) {
      if (this.isKilled) return never();
      throw error;
    }
  }

  async #turn(message: string, isCounted = true): Promise<void> {
    if (this.isKilled) return never();
    if (isCounted && this.#requests + 1 === this.#fate.stoppedBefore && !this.#wasStopped) {
      this.#wasStopped = true;
      this.#isStopped = true;
      this.#whenStopped.resolve();
      this.#steps.note(`${this.name} is stopped before: ${message}`);
    }
    await this.#steps.when(`${this.name}: ${message}`, () => !this.#isStopped);
    if (this.isKilled) return never();
    return undefined;
  }

  #kill(): void {
    this.#steps.note(`${this.name} is killed`);
    this.#killed.abort();
    this.#clock.forget(this);
    this.#whenKilled.resolve();
  }

  #aliveClock(): Clock {
    const clock = this.#clock.of(this);
    return {
      now: () => clock.now(),
      sleep: (milliseconds, signal) => (this.isKilled ? never() : clock.sleep(milliseconds, signal)),
    };
  }

  #api(api: KubernetesApi): KubernetesApi {
    return {
      get: (reference) =>
        this.request(`get ${reference.resource.plural} ${reference.name}`, () => api.get(reference)),
      list: (resource, query) =>
        this.request(`list ${resource.plural} ${query?.labelSelector ?? query?.fieldSelector ?? ''}`, () =>
          api.list(resource, query),
        ),
      watch: (resource, query) => this.#watch(api.watch(resource, this.#untilKilled(query))),
      groups: () => this.request('get groups', () => api.groups()),
      create: (resource, object) =>
        this.request(`create ${resource.plural} ${object.metadata.name}`, () => api.create(resource, object)),
      dryRunCreate: (resource, object) =>
        this.request(`try to create ${resource.plural} ${object.metadata.name}`, () =>
          api.dryRunCreate(resource, object),
        ),
      replace: (resource, object, subresource) =>
        this.request(`replace ${resource.plural} ${object.metadata.name}`, () =>
          api.replace(resource, object, subresource),
        ),
      patch: (reference, patch, options) =>
        this.request(`patch ${reference.resource.plural} ${reference.name}`, () =>
          api.patch(reference, patch, options),
        ),
      delete: (reference, options) =>
        this.request(`delete ${reference.resource.plural} ${reference.name}`, () =>
          api.delete(reference, options),
        ),
    };
  }

  #untilKilled<T extends { readonly signal?: AbortSignal | undefined }>(query: T | undefined): T {
    const { signal } = query ?? {};
    const killed = this.#killed.signal;
    return { ...query, signal: signal === undefined ? killed : AbortSignal.any([signal, killed]) } as T;
  }

  async *#watch<T extends KubernetesObject>(
    events: AsyncIterable<WatchEvent<T>>,
  ): AsyncIterable<WatchEvent<T>> {
    for await (const event of events) {
      if (this.isKilled) await never();
      yield event;
    }
    if (this.isKilled) await never();
  }
}
