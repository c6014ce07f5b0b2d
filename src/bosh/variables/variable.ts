import type { YamlNode } from '../yaml/yaml-node.ts';

/** An entry of the manifest's `variables`. Without a type it only takes what is given or stored. */
export interface VariableDefinition {
  readonly name: string;
  readonly type?: string;
  readonly options?: YamlNode;
}

/** Where values come from. Undefined: this source has none and makes none. */
export interface VariableSource {
  /** Tells what will be asked for; whoever makes values may begin. */
  expect(definitions: readonly VariableDefinition[]): Promise<void>;
  get(definition: VariableDefinition): Promise<YamlNode | undefined>;
}
