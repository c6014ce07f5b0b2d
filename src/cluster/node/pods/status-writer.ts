import type { KubernetesApi } from '../../../kubernetes/api.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod, PodStatus } from '../../../kubernetes/pod.ts';
import { pods } from '../../../kubernetes/resources.ts';

/** Writes one pod's status, the latest that is asked for; what was overtaken is not written. */
export class StatusWriter {
  readonly #api: KubernetesApi;
  readonly #pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly #compute: (pod: Pod) => PodStatus;
  readonly #onError: (error: unknown) => void;
  #stale = false;
  #writing: Promise<void> | undefined;

  constructor(
    api: KubernetesApi,
    pod: { readonly namespace: string; readonly name: string; readonly uid: string },
    compute: (pod: Pod) => PodStatus,
    onError: (error: unknown) => void,
  ) {
    this.#api = api;
    this.#pod = pod;
    this.#compute = compute;
    this.#onError = onError;
  }

  /** To be called after every change; resolves when a status at least that new is written, or the pod is gone. */
  publish(): Promise<void> {
    this.#stale = true;
    this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    // Changes of the same turn go together.
    await Promise.resolve();
    try {
      while (this.#stale) {
        this.#stale = false;
        await this.#write();
      }
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#writing = undefined;
    }
  }

  async #write(): Promise<void> {
    try {
      const pod = await this.#api.get<Pod>({ resource: pods, ...this.#pod });
      if (pod.metadata.uid === this.#pod.uid) {
        await this.#api.replace(pods, { ...pod, status: this.#compute(pod) }, 'status');
      }
    } catch (error) {
      if (isApiError(error, 409)) {
        this.#stale = true;
      } else if (!isApiError(error, 404)) {
        throw error;
      }
    }
  }
}
