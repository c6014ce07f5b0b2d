import type { KubernetesApi } from '../../../kubernetes/api.ts';
import type { CustomResourceDefinition } from '../../api/custom/definition.ts';
import { isEstablished, servedVersion } from '../../api/custom/definition.ts';
import { Informer } from '../runtime/informer.ts';
import type { ControllerRuntime } from '../runtime/work-queue.ts';
import type { CollectableKind } from './collectable.ts';

/** The kinds that CustomResourceDefinitions add: a copy of each is kept from its definition to its end. */
export class DefinedKinds {
  readonly #api: KubernetesApi;
  readonly #runtime: ControllerRuntime;
  readonly #kinds = new Map<string, CollectableKind>();
  readonly #handlers: ((kind: CollectableKind) => void)[] = [];
  readonly #ended: Promise<void>[] = [];
  #stopped = false;

  constructor(
    api: KubernetesApi,
    runtime: ControllerRuntime,
    definitions: Informer<CustomResourceDefinition>,
  ) {
    this.#api = api;
    this.#runtime = runtime;
    definitions.onChange(({ key, after }) => this.#follow(key, after));
  }

  list(): readonly CollectableKind[] {
    return [...this.#kinds.values()];
  }

  /** Called with each kind before its first object is told. To be called before the definitions' informer runs. */
  onKind(handler: (kind: CollectableKind) => void): void {
    this.#handlers.push(handler);
  }

  /** Resolves when no copy is kept up any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { informer } of this.#kinds.values()) informer.stop();
    await Promise.all(this.#ended);
  }

  #follow(name: string, definition: CustomResourceDefinition | undefined): void {
    const version =
      definition === undefined || !isEstablished(definition) ? undefined : servedVersion(definition);
    const known = this.#kinds.get(name);
    if (known !== undefined && known.informer.resource.version !== version?.name) {
      known.informer.stop();
      this.#kinds.delete(name);
    }
    if (definition === undefined || version === undefined || this.#stopped || this.#kinds.has(name)) return;
    this.#begin(name, definition, version.name);
  }

  #begin(name: string, { spec }: CustomResourceDefinition, version: string): void {
    const { group, names, scope } = spec;
    const resource = { group, version, plural: names.plural, namespaced: scope === 'Namespaced' };
    const informer = new Informer(this.#api, resource, this.#runtime);
    // the definition may go before the first list: then there is nothing to copy
    informer.synced.catch(() => undefined);
    const kind = { kind: names.kind, apiVersion: `${group}/${version}`, informer };
    for (const handle of this.#handlers) handle(kind);
    this.#kinds.set(name, kind);
    this.#ended.push(informer.run());
  }
}
