import { hostname } from 'node:os';
import { ProductError } from '../errors/product-error.ts';
import { actionTable } from './actions/action-table.ts';
import { restoreSpec } from './apply/apply-spec.ts';
import type { Directories } from './directories.ts';
import { errorMessage } from './file/error-code.ts';
import { resolveBusAddress, type BusAddress } from './mbus/bus-address.ts';
import { serveBus, type BusServer } from './mbus/server.ts';
import { serveCommands } from './monit/command/command-socket.ts';
import type { CommandPorts } from './monit/command/run-command.ts';
import { prepareDirectories } from './prepare-directories.ts';
import { agentServices, type AgentPorts, type AgentServices } from './services.ts';
import { loadSettings } from './settings/load-settings.ts';
import type { Settings } from './settings/settings.ts';
import { writeAuthorizedKeys } from './user/ssh-accounts.ts';

export interface AgentOptions {
  readonly directories: Directories;
  /** agent.json. */
  readonly configPath: string;
  readonly ports: AgentPorts;
}

/** The agent of one VM. */
export class Agent {
  readonly #services: AgentServices;
  readonly #bus: BusServer;
  readonly #endCommands: () => Promise<void>;
  readonly #closing = new AbortController();
  readonly #resumed: Promise<void>;

  private constructor(
    services: AgentServices,
    {
      bus,
      endCommands,
      isRestored,
    }: {
      readonly bus: BusServer;
      readonly endCommands: () => Promise<void>;
      readonly isRestored: boolean;
    },
  ) {
    this.#services = services;
    this.#bus = bus;
    this.#endCommands = endCommands;
    this.#resumed = isRestored ? this.#startJobs() : Promise.resolve();
  }

  /**
   * Prepares the directories, reads the settings, restores the last applied spec, listens, and then starts
   * the jobs in the background. Rejects if the settings cannot be used or if the address is taken.
   */
  static async start(options: AgentOptions): Promise<Agent> {
    const { directories, ports } = options;
    await prepareDirectories(directories, ports.identities);
    const settings = await loadSettings(options.configPath, directories);
    const { address, certificate } = requireUsableSettings(settings, await ports.ownAddress());
    if (settings.ignoredSettings.length > 0)
      ports.log.info(`settings without effect here: ${settings.ignoredSettings.join(', ')}`);
    const problem = await writeAuthorizedKeys(settings.authorizedKeys, ports.identities);
    if (problem !== undefined) ports.log.error(`no SSH login by env.bosh.authorized_keys: ${problem}`);
    const services = agentServices(settings, directories, ports);
    await services.blobs.prepare();
    await services.supervisor.prepare();
    const isRestored = await restore(services);
    const actions = actionTable(services);
    const bus = await serveBus({ ...services, actions, address, certificate });
    ports.log.info(`agent ${settings.agentId} listens on ${address.host}:${bus.port}`);
    const endCommands = await serveCommands(
      directories.monitSocket,
      monitCommandHandlers(services),
      ports.log,
    );
    return new Agent(services, { bus, endCommands, isRestored });
  }

  /** The port on which the bus listens. */
  get port(): number {
    return this.#bus.port;
  }

  /**
   * Stops listening and supervising, and cancels the tasks that can be cancelled. Jobs keep running, and the
   * next agent takes them over.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#services.tasks.cancelAll();
    await this.#bus.close();
    await this.#endCommands();
    await this.#resumed;
    await this.#services.supervisor.unmonitor();
  }

  async #startJobs(): Promise<void> {
    const { jobStart, log } = this.#services;
    try {
      await jobStart.startAfterRestart(this.#closing.signal);
    } catch (error) {
      // The bus keeps running, so that a caller can still see the state, apply a spec and start jobs.
      this.#services.supervisor.setBlocker('disk', errorMessage(error));
      log.error(`jobs could not be resumed: ${errorMessage(error)}`);
    }
  }
}

function monitCommandHandlers({ supervisor, clock, table, probes }: AgentServices): CommandPorts {
  const startedAt = clock.now();
  return {
    processes: () => supervisor.processes(),
    request: (name, action) => supervisor.request(name, action),
    reload: () => supervisor.reload(),
    facts: async () => ({
      ...{ now: clock.now(), startedAt, hostname: hostname() },
      ...{ loadAverages: probes.loadAverages(), usages: await table.list() },
      ...{ memoryKilobytes: probes.memoryKilobytes, processors: probes.processors },
    }),
  };
}

function requireUsableSettings(
  settings: Settings,
  machine: string,
): { readonly address: BusAddress; readonly certificate: NonNullable<Settings['certificate']> } {
  const { blobstoreProvider, certificate } = settings;
  if (certificate === undefined) throw invalid('have no env.bosh.mbus.cert with certificate and private_key');
  if (blobstoreProvider !== undefined && blobstoreProvider !== 'local') {
    throw invalid(`name the blobstore provider '${blobstoreProvider}', and this agent knows only 'local'`);
  }
  return { address: resolveBusAddress(settings, machine), certificate };
}

function invalid(cause: string): ProductError {
  return new ProductError('AGENT_SETTINGS_INVALID', `the settings ${cause}`);
}

// The agent keeps serving even if the restore fails, so that the director can apply a spec or delete the VM.
async function restore(services: AgentServices): Promise<boolean> {
  try {
    await restoreSpec(await services.specFile.read(), services);
    return true;
  } catch (error) {
    services.supervisor.setBlocker(
      'spec',
      `the applied spec could not be restored, apply it again: ${errorMessage(error)}`,
    );
    services.log.error(`the applied spec could not be restored: ${errorMessage(error)}`);
    return false;
  }
}
