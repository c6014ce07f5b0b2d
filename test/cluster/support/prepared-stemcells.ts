import type { Stemcell } from './cluster-under-test.ts';

const variable = 'BOSH_KUBERNETES_TEST_STEMCELLS';

/**
 * Returns the environment variable that tells test files which stemcells are on the nodes, by kind. Each file
 * would take a second per stemcell to find this out.
 */
export function withPreparedStemcells(stemcells: Readonly<Record<string, Stemcell>>): NodeJS.ProcessEnv {
  return { [variable]: JSON.stringify(stemcells) };
}

/** Returns the stemcell of that kind if the parent process has loaded it onto the nodes. */
export function preparedStemcell(kind: string): Stemcell | undefined {
  const { [variable]: prepared = '{}' } = process.env;
  return (JSON.parse(prepared) as Readonly<Record<string, Stemcell>>)[kind];
}
