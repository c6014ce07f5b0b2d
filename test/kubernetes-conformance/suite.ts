import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withGoSettings } from '../cluster/machine/machine.ts';
import { parseNames, parseReport, type TestResult } from './report.ts';

interface Programs {
  /** Of the version whose tests these are. */
  readonly kubectl: string;
  readonly suite: string;
}

export interface SuiteOptions {
  readonly programs: Programs;
  readonly kubeconfig: string;
  /** For logs and reports. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

interface Selection {
  readonly focus: string;
  readonly skip?: string | undefined;
}

/** Kubernetes' end-to-end tests (k8s.io/kubernetes/test/e2e), against one cluster. */
export class Suite {
  readonly #options: SuiteOptions;
  #runs = 0;

  constructor(options: SuiteOptions) {
    this.#options = options;
  }

  /** The names of the tests that match. */
  async list({ focus, skip }: Selection): Promise<string[]> {
    const report = await this.#start([
      '--ginkgo.dry-run',
      `--ginkgo.focus=${focus}`,
      ...(skip === undefined ? [] : [`--ginkgo.skip=${skip}`]),
    ]);
    if (report === undefined)
      throw new Error(`${this.#options.programs.suite} cannot say which tests it has`);
    return parseNames(report);
  }

  /** Runs the tests of these names; what failed is a result, also that a test took the whole program with it. */
  async run(names: readonly string[]): Promise<TestResult[]> {
    const focus = `(?:${names.map(quote).join('|')})$`;
    const report = await this.#start([`--ginkgo.focus=${focus}`]);
    if (report !== undefined) {
      const results = parseReport(report);
      for (const { name, state, seconds } of results) console.log(`${state} ${seconds.toFixed(1)} s ${name}`);
      return results;
    }
    // which of them it was shows when each has a program of its own
    if (names.length > 1) return (await collect(names, (name) => this.run([name]))).flat();
    return names.map((name) => ({ name, state: 'failed', seconds: 0, reason: 'the program died of it' }));
  }

  /** One process; its report, undefined where it died before it wrote one. */
  async #start(words: readonly string[]): Promise<string | undefined> {
    const { programs, kubeconfig, directory, signal } = this.#options;
    signal.throwIfAborted();
    const name = `run-${(this.#runs += 1)}`;
    const report = join(directory, `${name}.json`);
    const log = await open(join(directory, `${name}.log`), 'w', 0o600);
    try {
      const [program, ...args] = withGoSettings([
        programs.suite,
        ...[`--kubeconfig=${kubeconfig}`, `--kubectl-path=${programs.kubectl}`, '--provider=skeleton'],
        // protobuf is for kubectl's few typed commands only (docs/kubernetes-conformance.md)
        '--kube-api-content-type=application/json',
        ...['--allowed-not-ready-nodes=-1', '--dump-logs-on-failure=false', '--disable-log-dump'],
        ...['--ginkgo.no-color', '--ginkgo.timeout=30m', `--ginkgo.json-report=${report}`, ...words],
      ]);
      const child = spawn(program, args, {
        // its tests leave files behind
        env: { ...process.env, TMPDIR: directory },
        ...{ stdio: ['ignore', log.fd, log.fd], cwd: directory, signal, killSignal: 'SIGTERM' },
      });
      await once(child, 'exit');
    } finally {
      await log.close();
    }
    return readIfThere(report);
  }
}

/** A name as a regular expression of Go. */
const quote = (name: string): string => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);

async function collect<T, R>(items: readonly T[], take: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await take(item));
  return results;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
