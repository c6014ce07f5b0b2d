import type { ControlPlaneApi } from '../../api-server/control-plane-api.ts';
import type { VolumeProvisioner } from '../../node/volume-provisioner.ts';

const writes = [
  'create',
  'replace',
  'patch',
  'delete',
  'bindPod',
  'finalizeNamespace',
  'provision',
  'remove',
  'takeSnapshot',
  'removeSnapshot',
  'modify',
];

/** Kills controllers at a chosen write: before it is done, or before its result arrives. */
export class CrashInjector {
  readonly #moment: 'before' | 'after';
  #left: number;
  #killed = false;

  constructor(moment: 'before' | 'after', writesToLive: number) {
    this.#moment = moment;
    this.#left = writesToLive;
  }

  get isDead(): boolean {
    return this.#left < 0;
  }

  /** True if the chosen write was reached. */
  get wasKilled(): boolean {
    return this.#killed;
  }

  revive(): void {
    this.#left = Number.POSITIVE_INFINITY;
  }

  /** Returns a proxy of the port whose writes fail once the controllers are killed. */
  of<T extends ControlPlaneApi | VolumeProvisioner>(port: T): T {
    return new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') {
          return member;
        }
        const call = (...parameters: unknown[]): unknown => Reflect.apply(member, target, parameters);
        return writes.includes(String(name))
          ? (...parameters: unknown[]) => this.#spend(() => call(...parameters))
          : call;
      },
    });
  }

  async #spend(write: () => unknown): Promise<unknown> {
    this.#left -= 1;
    if (this.#left >= 0) {
      return write();
    }
    this.#killed = true;
    if (this.#left === -1 && this.#moment === 'after') {
      await write();
    }
    throw new Error('killed');
  }
}
