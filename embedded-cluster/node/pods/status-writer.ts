import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Pod, PodStatus } from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';

/**
 * Writes the status of one pod: always the latest one. A status that is outdated before its write is skipped.
 */
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

  /**
   * Must be called after every change. Resolves when a status at least as new is written, or the pod is
   * deleted.
   */
  publish(): Promise<void> {
    this.#stale = true;
    this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    // All changes in the same turn of the event loop share one write.
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
