import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join, basename, resolve } from 'node:path';
import { type Socks5Proxy, proxyVariable } from '../../bosh/agent-client/socks5-connect.ts';
import { runProgram } from '../../platform/run-program.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import {
  openVm,
  readDeployedState,
  type VmAccess,
  manifestEndpoint,
  type VmAccessOptions,
} from '../../deploy/vm-access.ts';
import { readDirectorAgent } from '../../director/credentials.ts';
import { readDirectorFile } from '../../director/director-directory.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { writeNew } from '../../platform/durable-file.ts';
import { secretStrings } from '../../errors/redact/secret-strings.ts';
import type { EnvInputs } from '../args/env-arguments.ts';
import { isOnEmbeddedCluster } from '../cluster/check-destroy-target.ts';
import { embeddedCluster } from '../cluster/embedded-cluster.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import { assertClusterNotRemoved } from '../cluster/removed-cluster.ts';
import { withClusterVariables } from '../cluster/with-cluster-variables.ts';
import type { CommandContext } from '../command.ts';
import { envPorts } from '../env-ports.ts';
import { checkPaths } from '../../deploy/session.ts';
import { withAgentProxy } from '../tunnel/with-agent-proxy.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import { noDirectorFile } from '../tunnel/with-tunnel.ts';
import { withVmContainer, type VmContainer } from './vm-container.ts';
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
}

/** The two ways into a VM. */
export interface WaysIntoVm<T> {
  /** For a VM with sshd. */
  overSsh(session: SshSession): Promise<T>;
  /**
   * For a VM without sshd in a cluster whose kubeconfig is known. `withAgent` connects to the agent, whose
   * account is not needed otherwise.
   */
  inContainer(container: VmContainer, withAgent: WithAgent): Promise<T>;
}

type WithAgent = <R>(action: (vm: VmAccess) => Promise<R>) => Promise<R>;

/** Milliseconds that the agent has to remove the account when the session ends. */
export const cleanupBudget = 20_000;

/**
 * Lets the agent of a deployed VM create an account with a new key. Removes both after the action, even if it
 * fails. A killed session leaves a note, by which the next session with that VM removes the account. If the
 * VM runs no sshd, as all VMs of the embedded cluster, runs the action in the VM's container instead.
 */
export async function withSshSession<T>(
  { inputs, sshOptions }: SessionRequest,
  context: CommandContext,
  ways: WaysIntoVm<T>,
): Promise<T> {
  const instance = await findInstance(inputs, context);
  const { cluster } = instance;
  const withAgent = <R>(action: (vm: VmAccess, proxy: Socks5Proxy | undefined) => Promise<R>): Promise<R> =>
    withAgentProxy(instance, context, async (proxy) =>
      action(await openVm({ ...instance, proxy, signal: context.signal }, envPorts(context)), proxy),
    );
  if (cluster?.isEmbedded === true)
    return inEmbeddedCluster(cluster, instance.statePath, context, ways, withAgent);
  return withAgent(async (vm, proxy) => {
    const result = await inSession({ vm, proxy, sshOptions }, context, (session) => ways.overSsh(session));
    if (!(result instanceof NoSshd)) return result;
    const enter = (container: VmContainer): Promise<{ value: T }> =>
      ways.inContainer(container, (action) => action(vm)).then((value) => ({ value }));
    const entered =
      cluster === undefined
        ? undefined
        : await withVmContainer({ ...cluster, vmCid: vm.vmCid }, context, enter);
    if (entered === undefined) throw result.error;
    return entered.value;
  });
}

/** The result of a session with a VM that runs no sshd. */
class NoSshd {
  readonly error: ProductError;

  constructor(error: ProductError) {
    this.error = error;
  }
}

async function inEmbeddedCluster<T>(
  { kubeconfig }: KnownCluster,
  statePath: string,
  context: CommandContext,
  ways: WaysIntoVm<T>,
  withAgent: WithAgent,
): Promise<T> {
  const { current_vm_cid: vmCid } = await readDeployedState(statePath);
  const entered = await withVmContainer({ kubeconfig, vmCid }, context, async (container) => ({
    value: await ways.inContainer(container, withAgent),
  })).catch(async (error: unknown) => {
    const isUnreachable = ['KUBERNETES_UNREACHABLE', 'AGENT_UNREACHABLE'] as const;
    if (!isUnreachable.some((code) => isProductError(error, code))) throw error;
    if (await embeddedCluster(context.installation).isRunning()) throw error;
    const next = "'bosh-kubernetes up' with the manifest starts it";
    throw new ProductError('KUBERNETES_UNREACHABLE', `The embedded cluster is stopped; ${next}`, {
      cause: error,
    });
  });
  if (entered !== undefined) return entered.value;
  throw new ProductError(
    'VM_NOT_FOUND',
    `VM '${vmCid}' is no longer in the embedded cluster; 'bosh-kubernetes up' with --recreate creates another one with the same disk`,
  );
}

async function inSession<T>(
  { vm, proxy, sshOptions }: ActiveSession,
  context: CommandContext,
  action: (session: SshSession) => Promise<T>,
): Promise<T | NoSshd> {
  const { installation, signal, terminal } = context;
  const sessions = join(installation.workspace, 'ssh');
  for (const { user, directory } of await abandonedSessions(sessions, vm.vmCid))
    await removeAccount(vm, user, directory, context);
  const user = `bosh_${randomBytes(8).toString('hex').slice(0, 15)}`;
  const directory = await makeSessionDirectory(sessions, user, vm.vmCid);
  try {
    const { address, hostKey } = await withLiveProgress(terminal, 'Connecting to the VM', async () =>
      vm.client(signal).setUpSsh(user, await makeKey(directory.path, context)),
    );
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
  } catch (error) {
    // The message of our agent (src/agent/actions/ssh.ts).
    if (isProductError(error, 'AGENT_ERROR') && error.message.includes('runs no sshd'))
      return new NoSshd(error);
    throw error;
  } finally {
    await removeAccount(vm, user, directory, context);
  }
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
  /** The cluster that the VM is on. Undefined if it is not known. */
  readonly cluster?: KnownCluster | undefined;
}

interface KnownCluster {
  readonly kubeconfig: string;
  readonly isEmbedded: boolean;
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
    await checkPaths(path, files);
    await assertClusterNotRemoved(files, installation.clusterDirectory, inputs);
    const isEmbedded = await isOnEmbeddedCluster(files, installation.clusterDirectory);
    // 'up' sets the same variables.
    const given = isEmbedded ? withClusterVariables(inputs, installation) : inputs;
    const loaded = { ...given, environment, keepsVarsStore: true, onSecrets: secrets.add };
    return {
      statePath: files.statePath,
      cluster: isEmbedded
        ? { kubeconfig: kubeconfigPath(installation.clusterDirectory), isEmbedded }
        : await recordedCluster(files),
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

/** The kubeconfig of the record may have been removed or may name another cluster, which has no such VM. */
async function recordedCluster(files: DeploymentFiles): Promise<KnownCluster | undefined> {
  const { kubeconfig } = (await files.readCluster()) ?? {};
  return kubeconfig === undefined || !existsSync(kubeconfig) ? undefined : { kubeconfig, isEmbedded: false };
}
