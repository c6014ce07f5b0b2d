import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { actionTable } from './actions/action-table.ts';
import { restoreSpec } from './apply/apply-spec.ts';
import type { Directories } from './directories.ts';
import { errorMessage } from './file/error-code.ts';
import type { Bus } from './mbus/bus.ts';
import { createBus } from './mbus/create-bus.ts';
import { formatAlert } from './mbus/alert.ts';
import { Heartbeat } from './mbus/heartbeat.ts';
import { serveCommands } from './monit/command/command-socket.ts';
import type { ServiceAlert } from './monit/service-alert.ts';
import type { CommandPorts } from './monit/command/run-command.ts';
import { prepareDirectories } from './prepare-directories.ts';
import { agentServices, type AgentPorts, type AgentServices } from './services.ts';
import { loadSettings } from './settings/load-settings.ts';
import { UpdatedSettings } from './settings/updated-settings.ts';
import { ShutdownMark } from './shutdown-mark.ts';
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
  readonly #bus: Bus;
  readonly #heartbeat: Heartbeat;
  readonly #shutdownMark: ShutdownMark;
  #endCommands: () => Promise<void> = async () => {};
  readonly #closing = new AbortController();
  #background: Promise<unknown> = Promise.resolve();

  private constructor(
    services: AgentServices,
    parts: {
      readonly bus: Bus;
      readonly heartbeat: Heartbeat;
      readonly shutdownMark: ShutdownMark;
    },
  ) {
    this.#services = services;
    this.#bus = parts.bus;
    this.#heartbeat = parts.heartbeat;
    this.#shutdownMark = parts.shutdownMark;
  }

  /**
   * Prepares the directories, reads the settings, restores the last applied spec, opens the bus, and then
   * starts the jobs in the background. Rejects if the settings cannot be used or if the address is taken.
   */
  static async start(options: AgentOptions): Promise<Agent> {
    const { directories, ports } = options;
    await prepareDirectories(directories, ports.identities);
    const settings = await loadSettings(options.configPath, directories);
    const updatedSettings = await UpdatedSettings.read(directories);
    if (settings.ignoredSettings.length > 0)
      ports.log.info(`settings without effect here: ${settings.ignoredSettings.join(', ')}`);
    const problem = await writeAuthorizedKeys(settings.authorizedKeys, ports.identities);
    if (problem !== undefined) ports.log.error(`no SSH login by env.bosh.authorized_keys: ${problem}`);
    const alert = (one: ServiceAlert): void =>
      bus.publish('alert', formatAlert(one, { settings, id: randomUUID(), now: ports.clock.now() }));
    const services = agentServices({ settings, updatedSettings, alert }, directories, ports);
    const heartbeat: Heartbeat = new Heartbeat({
      ...services,
      publish: (body) => bus.publish('heartbeat', body),
    });
    const machine = await ports.ownAddress();
    const bus = createBus({ services, machine, onConnected: () => void heartbeat.send() });
    await services.blobs.local.prepare();
    await services.supervisor.prepare();
    await restoreTrustedCertificates(services);
    const shutdownMark = new ShutdownMark(directories);
    const agent = new Agent(services, { bus, heartbeat, shutdownMark });
    await agent.#begin();
    return agent;
  }

  async #begin(): Promise<void> {
    const services = this.#services;
    const isRestored = await restore(services);
    if (await this.#shutdownMark.isSet()) {
      services.log.info('the director has shut this VM down: the agent runs no job and answers nothing');
      await this.#stopJobs();
      return this.#serveCommands();
    }
    const actions = actionTable(services, {
      exchangeCertificate: (...args) => this.#bus.exchangeCertificate(...args),
      publish: (...args) => this.#bus.publish(...args),
      shutDown: () => this.#shutDown(),
    });
    await this.#bus.start({ ...services, actions });
    await this.#serveCommands();
    this.#background = Promise.all([
      isRestored ? this.#startJobs() : undefined,
      services.supervisor.health.run(this.#closing.signal),
      this.#bus.hasHealthMonitor ? this.#heartbeat.run() : undefined,
    ]);
  }

  /** Only after the spec is restored, so that `monit` shows all services, and after the bus could start. */
  async #serveCommands(): Promise<void> {
    const { directories, log } = this.#services;
    this.#endCommands = await serveCommands(
      directories.monitSocket,
      monitCommandHandlers(this.#services),
      log,
    );
  }

  /** The port on which the bus listens; undefined for a bus that connects to a server. */
  get port(): number | undefined {
    return this.#bus.port;
  }

  /**
   * Stops listening and supervising, and cancels the tasks that can be cancelled. Jobs keep running, and the
   * next agent takes them over.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#heartbeat.stop();
    this.#services.tasks.cancelAll();
    await this.#bus.close();
    await this.#endCommands();
    await this.#background;
    await this.#services.supervisor.close();
  }

  /**
   * The mark is written first, so that a kill leaves a VM that is shut down. Tasks that can be cancelled end.
   */
  async #shutDown(): Promise<void> {
    const { tasks, log } = this.#services;
    await this.#shutdownMark.set();
    this.#closing.abort();
    this.#heartbeat.stop();
    tasks.cancelAll();
    await this.#stopJobs();
    log.info('the director has shut this VM down');
    await this.#bus.close();
  }

  /**
   * Stops the jobs until the VM is deleted. A job that does not end is logged, and the agent's process stays.
   */
  async #stopJobs(): Promise<void> {
    const { supervisor, log } = this.#services;
    supervisor.setBlocker('shutdown', 'the director has shut this VM down');
    try {
      await supervisor.stop();
    } catch (error) {
      log.error(`shutdown: ${errorMessage(error)}`);
    }
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

/** After a restart of the container, the certificate store is the stemcell's again. */
async function restoreTrustedCertificates(services: AgentServices): Promise<void> {
  const { trustedCertificates, updatedSettings, log } = services;
  try {
    await trustedCertificates.install(updatedSettings.current?.trustedCerts ?? '');
  } catch (error) {
    log.error(`the system's certificates: ${errorMessage(error)}`);
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
