import type { Stemcell } from './cluster-under-test.ts';

const variable = 'BOSH_KUBERNETES_TEST_STEMCELLS';

/** The variable that tells test files which stemcells are on the nodes, by kind: to find that out is a second's work each. */
export function withPreparedStemcells(stemcells: Readonly<Record<string, Stemcell>>): NodeJS.ProcessEnv {
  return { [variable]: JSON.stringify(stemcells) };
}

/** The stemcell of that kind, if whoever started this process has put it onto the nodes. */
export function preparedStemcell(kind: string): Stemcell | undefined {
  const { [variable]: prepared = '{}' } = process.env;
  return (JSON.parse(prepared) as Readonly<Record<string, Stemcell>>)[kind];
}
