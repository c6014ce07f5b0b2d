import { randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join, basename, resolve } from 'node:path';
import { type Socks5Proxy, proxyVariable } from '../../bosh/agent-client/socks5-connect.ts';
import { runProgram } from '../../platform/run-program.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { openVm, type VmAccess, manifestEndpoint, type VmAccessOptions } from '../../deploy/vm-access.ts';
import { readDirectorAgent } from '../../director/credentials.ts';
import { readDirectorFile } from '../../director/director-directory.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { writeNew } from '../../platform/durable-file.ts';
import { shellWord } from '../../platform/shell-word.ts';
import { secretStrings } from '../../errors/redact/secret-strings.ts';
import type { EnvInputs } from '../args/env-arguments.ts';
import { isOnEmbeddedCluster } from '../cluster/check-destroy-target.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import { assertClusterNotRemoved } from '../cluster/removed-cluster.ts';
import { withClusterVariables } from '../cluster/with-cluster-variables.ts';
import type { CommandContext } from '../command.ts';
import { envPorts } from '../env-ports.ts';
import { withAgentProxy } from '../tunnel/with-agent-proxy.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import { noDirectorFile } from '../tunnel/with-tunnel.ts';
import { hostKeyAlias, proxyCommandOf, type SshLogin } from './openssh.ts';
import { abandonedSessions, makeSessionDirectory, type SessionDirectory } from './session-directory.ts';

export interface SshSession {
  readonly login: SshLogin;
  /** Returns a client of the agent whose waits end when the signal is aborted. */
  readonly client: VmAccess['client'];
  /** The deployment's name. */
  readonly name: string;
}

interface SessionRequest {
  readonly inputs: EnvInputs;
  readonly sshOptions: readonly string[];
}

interface ActiveSession extends Pick<SessionRequest, 'sshOptions'> {
  readonly vm: VmAccess;
  readonly proxy: Socks5Proxy | undefined;
  readonly embeddedKubeconfig: string | undefined;
}

/** Milliseconds that the agent has to remove the account when the session ends. */
export const cleanupBudget = 20_000;

/**
 * Lets the agent of a deployed VM create an account with a new key. Removes both after `action`, even if it
 * fails. A killed session leaves a note, by which the next session with that VM removes the account.
 */
export async function withSshSession<T>(
  { inputs, sshOptions }: SessionRequest,
  context: CommandContext,
  action: (session: SshSession) => Promise<T>,
): Promise<T> {
  const instance = await findInstance(inputs, context);
  return withAgentProxy(instance, context, async (proxy) => {
    const vm = await openVm({ ...instance, proxy, signal: context.signal }, envPorts(context));
    const { embeddedKubeconfig } = instance;
    return inSession({ vm, proxy, sshOptions, embeddedKubeconfig }, context, action);
  });
}

async function inSession<T>(
  { vm, proxy, sshOptions, embeddedKubeconfig }: ActiveSession,
  context: CommandContext,
  action: (session: SshSession) => Promise<T>,
): Promise<T> {
  const { installation, signal, terminal } = context;
  const sessions = join(installation.workspace, 'ssh');
  for (const { user, directory } of await abandonedSessions(sessions, vm.vmCid))
    await removeAccount(vm, user, directory, context);
  const user = `bosh_${randomBytes(8).toString('hex').slice(0, 15)}`;
  const directory = await makeSessionDirectory(sessions, user, vm.vmCid);
  try {
    const { address, hostKey } = await withLiveProgress(terminal, 'Connecting to the VM', async () =>
      vm.client(signal).setUpSsh(user, await makeKey(directory.path, context)),
    ).catch((error: unknown) => {
      if (embeddedKubeconfig === undefined || !isProductError(error, 'AGENT_ERROR')) throw error;
      throw new ProductError('SSH_FAILED', withoutSshd(vm.vmCid, embeddedKubeconfig), { cause: error });
    });
    writeNew(join(directory.path, 'known_hosts'), `${hostKeyAlias} ${hostKey}\n`);
    return await action({
      login: {
        user,
        address,
        directory: directory.path,
        proxyCommand: proxyCommand(proxy),
        options: sshOptions,
      },
      ...{ client: (until) => vm.client(until), name: vm.name },
    });
  } finally {
    await removeAccount(vm, user, directory, context);
  }
}

function withoutSshd(vmCid: string, kubeconfig: string): string {
  const kubectl = `kubectl --kubeconfig ${shellWord(kubeconfig)}`;
  return (
    `VM '${vmCid}' is on the embedded cluster, whose VMs run no sshd, so ssh, scp and logs cannot reach it. Enter it with: ` +
    `${kubectl} exec -it ${vmCid} -- bash; in it, the logs of the jobs are below /var/vcap/sys/log`
  );
}

/** Returns the command that runs this program again, independent of how it was started. */
function proxyCommand(proxy: Socks5Proxy | undefined): string | undefined {
  if (proxy === undefined) return undefined;
  const program = [process.execPath, process.argv[1] ?? ''];
  return proxyCommandOf([...program, 'socks5-connect', proxy.host, String(proxy.port)]);
}

/** Removes the account even after an interrupt, which ends all other calls to the agent. */
async function removeAccount(
  vm: VmAccess,
  user: string,
  directory: SessionDirectory,
  { terminal }: CommandContext,
): Promise<void> {
  try {
    await withLiveProgress(terminal, 'Removing the account from the VM', () =>
      vm.client(AbortSignal.timeout(cleanupBudget)).cleanUpSsh(user),
    );
    await directory.remove();
  } catch (error) {
    await directory.keepForRetry();
    if (!(error instanceof ProductError)) throw error;
    terminal.error(
      `Warning: account '${user}' may still be in VM '${vm.vmCid}'; the next ssh, scp or logs of this deployment removes it. ${error.message}`,
    );
  }
}

/** Creates a key that sshd accepts under every algorithm policy. It is used only during the session. */
async function makeKey(directory: string, { environment, signal }: CommandContext): Promise<string> {
  const path = join(directory, 'key');
  const args = ['-q', '-t', 'ecdsa', '-b', '256', '-N', '', '-C', '', '-f', path];
  const run = { file: 'ssh-keygen', args, environment, signal, timeoutMs: 60_000 };
  const result = await runProgram(run).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    const message = "There is no 'ssh-keygen' on PATH: install OpenSSH's client (Debian: openssh-client)";
    throw new ProductError('SSH_FAILED', message);
  });
  if (result.exitCode !== 0)
    throw new ProductError('SSH_FAILED', `ssh-keygen created no key: ${result.stderr.trim()}`);
  return (await readFile(`${path}.pub`, 'utf8')).trim();
}

/** A VM of create-env, as the arguments of a command identify it. */
export interface Instance extends Pick<VmAccessOptions, 'statePath' | 'endpoint'> {
  /** True if the command opens its own tunnel. */
  readonly tunnel: boolean;
  /** The kubeconfig of the embedded cluster if the VM is there. */
  readonly embeddedKubeconfig?: string | undefined;
}

/**
 * Finds the VM of a manifest or of a directory of `director init`. The agent of a director listens at the
 * director's address and is reached through a tunnel, unless director.json says that pod addresses are
 * reachable directly.
 */
export async function findInstance(
  inputs: EnvInputs,
  { environment, secrets, installation }: Pick<CommandContext, 'environment' | 'secrets' | 'installation'>,
): Promise<Instance> {
  const path = resolve(inputs.manifestPath);
  if ((await stat(path).catch(() => undefined))?.isDirectory() !== true) {
    const files = await DeploymentFiles.find(path, inputs.statePath);
    await assertClusterNotRemoved(files, installation.clusterDirectory, inputs);
    const isEmbedded = await isOnEmbeddedCluster(files, installation.clusterDirectory);
    // 'up' sets the same variables.
    const given = isEmbedded ? withClusterVariables(inputs, installation) : inputs;
    const loaded = { ...given, environment, keepsVarsStore: true, onSecrets: secrets.add };
    return {
      statePath: files.statePath,
      embeddedKubeconfig: isEmbedded ? kubeconfigPath(installation.clusterDirectory) : undefined,
      endpoint: () => manifestEndpoint(loaded),
      tunnel: inputs.tunnel,
    };
  }
  const { statePath, varsStorePath, opsFiles, varsFiles, varsEnvs, variables, variableFiles } = inputs;
  const given = [opsFiles, varsFiles, varsEnvs, Object.keys(variables), Object.keys(variableFiles)].flat();
  if ((statePath ?? varsStorePath) !== undefined || given.length > 0)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${path}' is a director's folder; flags for a manifest cannot be used with it`,
    );
  const file = await readDirectorFile(path);
  if (file === undefined) throw noDirectorFile(path);
  return {
    statePath: join(path, 'state.json'),
    endpoint: async () => {
      const agent = await readDirectorAgent(path, file.address);
      secrets.add(secretStrings({ mbus: agent.mbus, password: agent.password }));
      return { name: basename(path), ...agent };
    },
    tunnel: inputs.tunnel || (file.way !== 'direct' && (environment[proxyVariable] ?? '') === ''),
  };
}
