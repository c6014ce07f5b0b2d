import type { JsonObject } from '../../platform/json.ts';
import { Arguments } from '../protocol/arguments.ts';
import { type MethodName, readRequest } from '../protocol/methods.ts';

/** How an argument is read: see `Arguments`. */
export type ParameterKind =
  | 'string'
  | 'size'
  | 'object'
  | 'networks'
  | 'vm cid'
  | 'disk cid'
  | 'disk cids'
  | 'snapshot cid'
  | 'network cid'
  | 'placing properties'
  | 'properties'
  | 'network definition';

export interface Parameter {
  readonly name: string;
  readonly kind: ParameterKind;
  /** Null and absent are as an empty one. */
  readonly isOptional: boolean;
}

/** Returns the parameters of a method in their order, as its `read` reads them. */
export function parametersOf(method: MethodName): readonly Parameter[] {
  const recorder = new ParameterRecorder(method, []);
  readRequest(method, recorder);
  return recorder.parameters;
}

/** Records each read, and returns an empty value. */
class ParameterRecorder extends Arguments {
  readonly parameters: Parameter[] = [];

  override string(name: string): string {
    return this.#record(name, 'string', '');
  }
  override sizeMiB(name: string): number {
    return this.#record(name, 'size', 1);
  }
  /** The cloud_properties of a stemcell name its image. */
  override record(name: string): JsonObject {
    return this.#record(name, 'object', {}, name !== 'cloud_properties');
  }
  override onlyRecord(name: string): JsonObject {
    return this.#record(name, 'object', {});
  }
  override networks(): JsonObject {
    return this.#record('networks', 'networks', {});
  }
  override vmCid(): string {
    return this.#record('vm_cid', 'vm cid', '');
  }
  override diskCid(): string {
    return this.#record('disk_cid', 'disk cid', '');
  }
  override snapshotCid(): string {
    return this.#record('snapshot_cid', 'snapshot cid', '');
  }
  override networkCid(): string {
    return this.#record('network_cid', 'network cid', '');
  }
  override optionalVmCid(): undefined {
    return this.#record('vm_cid', 'vm cid', undefined, true);
  }
  override looseCid(kind: 'vm' | 'disk'): undefined {
    return this.#record(`${kind}_cid`, `${kind} cid`, undefined);
  }
  override vmCidOfThisContext(name: string): undefined {
    return this.#record(name, 'vm cid', undefined, true);
  }
  override diskCids(): readonly string[] {
    return this.#record('disk_cids', 'disk cids', [], true);
  }
  override placement(): JsonObject {
    return this.#record('cloud_properties', 'placing properties', {}, true);
  }
  override cloudProperties(): JsonObject {
    return this.#record('cloud_properties', 'properties', {}, true);
  }
  override networkDefinition(): JsonObject {
    return this.#record('definition', 'network definition', {});
  }

  #record<Value>(name: string, kind: ParameterKind, value: Value, isOptional = false): Value {
    this.parameters.push({ name, kind, isOptional });
    return value;
  }
}
