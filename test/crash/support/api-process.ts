import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleForNode } from '../../../scripts/bundle-for-node.ts';
import { loadAccess } from '../../../src/kubernetes/load-access.ts';
import { openTransport } from '../../../src/kubernetes/open-transport.ts';
import type { Transport } from '../../../src/kubernetes/transport.ts';

/** An API server in a process of its own. */
export interface ApiProcess {
  readonly pid: number;
  /** Retries nothing, so that what was answered is known. */
  readonly transport: Transport;
  /** kill -9, and the end of it. */
  kill(): Promise<void>;
}

const source = join(import.meta.dirname, '../../contract/serve.ts');
/** Gone with the suite's process. */
let bundle: Promise<string> | undefined;

/** In one file, as the cluster itself is built: its sources take three times as long to load as the server to start. */
async function buildServer(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-api-process-'));
  process.once('exit', () => rmSync(directory, { recursive: true }));
  const file = join(directory, 'serve.mjs');
  // a dependency in CommonJS asks for Node's own modules
  const js = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  await bundleForNode(source, file, { format: 'esm', banner: { js } });
  return file;
}

/**
 * Serves the cluster in `directory` and resolves when it answers. `enter`: a command line that runs the server's
 * (`unshare --mount ...`); the process that is killed is the server all the same, since it is executed in place.
 */
export async function startApi(directory: string, enter: readonly string[] = []): Promise<ApiProcess> {
  const server = await (bundle ??= buildServer());
  const [program, ...words] = [...enter, process.execPath, server, directory] as const;
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const kubeconfig = await firstLine(child);
  const transport = await openTransport(await loadAccess(readFileSync(kubeconfig, 'utf8')));
  return {
    pid: child.pid ?? 0,
    transport,
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      }
      transport.close();
    },
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (line: Buffer) => resolve(line.toString().trim()));
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`the API server ended before it answered: ${code ?? signal}`)),
    );
  });
}
