import { parseArgs } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { isNamespace } from '../plugin/requested-addresses.ts';

/** The paths of this node's CNI plugins and configuration, and the options of the installation. */
export interface CniPaths {
  /** The directory from which the runtime reads network configurations, such as /etc/cni/net.d. */
  readonly conflistDirectory: string;
  /** The directory of the runtime's plugins, such as /opt/cni/bin. */
  readonly binDirectory: string;
  /** Name of the file whose network static-ip wraps. Default: the first file, which the runtime uses. */
  readonly conflist: string | undefined;
  /** `type` of the plugin to wrap. Default: the first one with an `ipam`. */
  readonly plugin: string | undefined;
  /** Namespaces whose pods may request an address. Default: `defaultNamespaces`. */
  readonly namespaces: readonly string[] | undefined;
}

/** The namespace of the CPI's VMs in docs and manifests. */
export const defaultNamespaces: readonly string[] = ['bosh'];

export interface InstallArguments {
  readonly command: 'install' | 'guard' | 'installed' | 'uninstall' | 'help';
  readonly paths: CniPaths;
  /**
   * Name of the DaemonSet that owns this pod, in the pod's namespace. Absent: the pod has no DaemonSet, and a
   * signal leaves the plugin installed.
   */
  readonly daemonSet: string | undefined;
  /** For `uninstall`: wait for SIGTERM before exiting, as a container of a DaemonSet must. */
  readonly keepInstalled: boolean;
}

export const usage = `Usage: static-ip COMMAND

  install [--daemon-set NAME]   puts the plugin in front of this node's network, and keeps it there when the network's own
                                configuration changes; on SIGTERM restores the original network if the DaemonSet is deleted
  guard --daemon-set NAME       installs nothing; restores the original network like install, in case install was killed
  installed                     exits with code 0 if the plugin is installed
  uninstall [--stay]            restores the original network, then exits (--stay: waits for SIGTERM)

  --conflist-directory DIRECTORY   default /etc/cni/net.d
  --bin-directory DIRECTORY        default /opt/cni/bin
  --conflist FILE                  the network to wrap; default the first one, which the runtime uses
  --plugin TYPE                    the plugin of that network to wrap; default the first one with an ipam
  --namespaces NAME,NAME           the namespaces whose pods may request an address; default bosh, * for all
                                   (installed: these three default to the options of the last install)

Without a command, static-ip is a CNI plugin, called by a container runtime.
`;

/** Parses the command line. Throws INVALID_ARGUMENT. */
export function parseArguments(args: readonly string[]): InstallArguments {
  const { values, positionals } = parsed(args);
  const [command = 'help', ...more] = positionals;
  if (values.help === true)
    return { command: 'help', paths: pathsOf(values), daemonSet: undefined, keepInstalled: false };
  if (!isCommand(command)) throw invalid(`there is no command '${command}'`);
  if (more.length > 0) throw invalid(`unexpected argument '${more.join(' ')}'`);
  const daemonSet = values['daemon-set'];
  if (daemonSet !== undefined && command !== 'install' && command !== 'guard')
    throw invalid('--daemon-set is only for install and guard');
  if (daemonSet === undefined && command === 'guard') throw invalid('guard needs --daemon-set');
  const stay = values.stay ?? false;
  if (stay && command !== 'uninstall') throw invalid('--stay is only for uninstall');
  if (daemonSet !== undefined && !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/u.test(daemonSet))
    throw invalid(`'${daemonSet}' is not a valid name of a DaemonSet`);
  return { command, paths: pathsOf(values), daemonSet, keepInstalled: stay };
}

const commands = ['install', 'guard', 'installed', 'uninstall', 'help'] as const;

const isCommand = (word: string): word is InstallArguments['command'] =>
  commands.some((command) => command === word);

interface Values {
  readonly 'conflist-directory'?: string;
  readonly 'bin-directory'?: string;
  readonly conflist?: string;
  readonly plugin?: string;
  readonly namespaces?: string;
}

function pathsOf(values: Values): CniPaths {
  const { conflist } = values;
  if (conflist?.includes('/') === true)
    throw invalid(
      `--conflist ${conflist} is a path; it must be the name of a file in the conflist directory`,
    );
  return {
    conflistDirectory: values['conflist-directory'] ?? '/etc/cni/net.d',
    binDirectory: values['bin-directory'] ?? '/opt/cni/bin',
    conflist,
    plugin: values.plugin,
    namespaces: values.namespaces === undefined ? undefined : parseNamespaces(values.namespaces),
  };
}

function parseNamespaces(text: string): readonly string[] {
  const namespaces = text.split(',');
  const wrong = namespaces.find((name) => !isNamespace(name));
  if (wrong === undefined) return namespaces;
  throw invalid(`--namespaces ${text}: '${wrong}' is not a valid name of a namespace`);
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        'conflist-directory': { type: 'string' },
        'bin-directory': { type: 'string' },
        'daemon-set': { type: 'string' },
        stay: { type: 'boolean' },
        conflist: { type: 'string' },
        plugin: { type: 'string' },
        namespaces: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw invalid(error.message);
  }
}

const invalid = (message: string): ProductError =>
  new ProductError('INVALID_ARGUMENT', `${message}; see static-ip help`);
