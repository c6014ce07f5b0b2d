import { socks5Connect } from '../../bosh/agent-client/socks5-connect.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Command } from '../command.ts';
import { connectStdio } from '../connect-stdio.ts';

const usage = 'PROXY_HOST PROXY_PORT HOST PORT';

/** Connects stdin and stdout through a SOCKS5 proxy. This is the ProxyCommand of `ssh`, `scp` and `logs`. */
export const socks5ConnectCommand: Command = {
  name: 'socks5-connect',
  usage,
  summary: 'Connect stdin and stdout through a SOCKS5 proxy',
  // Hidden in the help: operators use tunnel --stdio.
  subCommands: [],
  async run(words, context) {
    const [proxyHost = '', proxyPort = '', host = '', port = ''] = words;
    if (words.length !== 4 || ![proxyPort, port].every((text) => /^[0-9]{1,5}$/.test(text)))
      throw new ProductError('INVALID_ARGUMENT', `Usage: socks5-connect ${usage}`);
    const proxy = { host: proxyHost, port: Number(proxyPort) };
    return connectStdio(await socks5Connect(proxy, { host, port: Number(port) }, context.signal), context);
  },
};
