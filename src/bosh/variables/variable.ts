import type { YamlNode } from '../yaml/yaml-node.ts';

/** An entry of the manifest's `variables`. Without a type its value is only looked up, not generated. */
export interface VariableDefinition {
  readonly name: string;
  readonly type?: string;
  readonly options?: YamlNode;
}

/** A source of values. `get` returns undefined if the source neither has nor generates the value. */
export interface VariableSource {
  /** Announces the definitions that `get` will be called with, so that values can be generated in advance. */
  expect(definitions: readonly VariableDefinition[]): Promise<void>;
  get(definition: VariableDefinition): Promise<YamlNode | undefined>;
}
