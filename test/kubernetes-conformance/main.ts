import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPrograms } from '../cluster/programs/build-programs.ts';
import { programCache } from '../cluster/programs/programs.ts';
import { startCluster } from './cluster.ts';
import { obstacle } from './obstacle.ts';
import { readPromised } from './promised.ts';
import { runTests } from './run-tests.ts';
import { Suite } from './suite.ts';
import { describeVerdict, judge } from './verdict.ts';

// npm run test:kubernetes-conformance: Kubernetes' own tests, built from its modules, against an embedded cluster.
// Without options the promised ones, of which each must run and pass. `--focus REGEX` and `--skip REGEX` choose others,
// promised or not; `--keep DIRECTORY` keeps logs and reports; `--processes N` run beside each other.
const { values } = parseArgs({
  options: {
    focus: { type: 'string' },
    skip: { type: 'string' },
    keep: { type: 'string' },
    processes: { type: 'string', default: '4' },
  },
});
const why = await obstacle();
if (why === undefined) process.exitCode = await main();
else console.log(`skipped: Kubernetes' conformance tests on the embedded cluster (${why})`);

async function main(): Promise<number> {
  const { names: promised, broken } = await readPromised(join(import.meta.dirname, 'promised'));
  if (broken.length > 0) throw new Error(`the promises were changed: ${broken.join('; ')}`);
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  const { signal } = stopping;
  if (values.keep !== undefined) await mkdir(values.keep, { recursive: true });
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-e2e-'));
  try {
    const built = await buildPrograms(programCache(), ['kubectl', 'e2e.test'], console.error);
    const [kubectl = '', suite = ''] = built;
    const programs = { kubectl, suite };
    const cluster = await startCluster(directory, values.keep);
    try {
      const { kubeconfig } = cluster;
      const tests = new Suite({ programs, kubeconfig, directory: values.keep ?? directory, signal });
      const { focus, skip } = values;
      const names = focus === undefined ? promised : await tests.list({ focus, skip });
      const results = await runTests(tests, names, {
        processes: Number(values.processes),
        again: focus === undefined,
      });
      const verdict = judge(names, results, promised);
      console.log(describeVerdict(verdict));
      return verdict.failed.length === 0 ? 0 : 1;
    } finally {
      await cluster.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 10 });
  }
}
