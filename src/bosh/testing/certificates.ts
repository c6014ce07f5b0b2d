import { createValueGenerator } from '../variables/generate-value.ts';
import { fromValue } from '../yaml/yaml-node.ts';
import type { YamlNode } from '../yaml/yaml-node.ts';

export interface TestCertificate {
  readonly certificate: string;
  readonly private_key: string;
  readonly ca: string;
}

const position = { file: 'test', line: 1, column: 1 };
const generate = createValueGenerator({ now: () => new Date(Date.now() - 60_000), randomBelow: () => 0 });

async function make(options: object, ca?: TestCertificate): Promise<TestCertificate> {
  const definition = {
    name: 'test',
    type: 'certificate',
    options: fromValue({ key_length: 2048, ...options }, position),
  };
  const find = async (): Promise<YamlNode | undefined> => ca && fromValue(ca, position);
  return (await generate(definition, find)) as TestCertificate;
}

/** Creates a certificate for 127.0.0.1 and the CA that signed it. */
export async function makeServerCertificate(alternativeName = '127.0.0.1'): Promise<TestCertificate> {
  const ca = await make({ is_ca: true, common_name: 'test-ca' });
  return make({ ca: 'ca', common_name: alternativeName, alternative_names: [alternativeName] }, ca);
}
