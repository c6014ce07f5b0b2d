import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleForNode } from '../../../scripts/bundle-for-node.ts';
import { loadAccess } from '../../../src/kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../../src/kubernetes/client/open-transport.ts';
import type { Transport } from '../../../src/kubernetes/client/transport.ts';

/** An API server in another process. */
export interface ApiProcess {
  readonly pid: number;
  /** Never retries, so that it is known which requests got a response. */
  readonly transport: Transport;
  /** Sends SIGKILL and waits for the end of the process. */
  kill(): Promise<void>;
}

const source = join(import.meta.dirname, '../../contract/serve.ts');
/** The bundle is removed when the suite's process exits. */
let bundle: Promise<string> | undefined;

/**
 * Bundles the server in one file, like the cluster itself. Loading the sources takes three times as long as
 * starting the server.
 */
async function buildServer(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-api-process-'));
  process.once('exit', () => rmSync(directory, { recursive: true }));
  const file = join(directory, 'serve.mjs');
  // A CommonJS dependency calls require() for Node's own modules.
  const js = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  await bundleForNode(source, file, { format: 'esm', banner: { js } });
  return file;
}

/**
 * Serves the cluster in `directory` and resolves when it responds. `enter` is a command that runs the
 * server's command (`unshare --mount ...`). It execs the server, so the killed process is the server.
 */
export async function startApi(directory: string, enter: readonly string[] = []): Promise<ApiProcess> {
  const server = await (bundle ??= buildServer());
  const [program, ...args] = [...enter, process.execPath, server, directory] as const;
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
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
