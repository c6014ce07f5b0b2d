import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/durable-file.ts';
import { parseSettingsPaths } from './agent-config.ts';
import { parseSettings } from './settings.ts';
import type { Settings } from './settings.ts';

/**
 * Loads the settings from the first existing source of agent.json (`configPath`), and keeps a copy in
 * bosh/settings.json, mode 0600. If no source exists, loads that copy (bosh-agent: settings/service.go).
 */
export async function loadSettings(configPath: string, directories: Directories): Promise<Settings> {
  const config = await readFileIfPresent(configPath);
  if (config === undefined) {
    throw new ProductError('AGENT_SETTINGS_INVALID', `there is no agent configuration ${configPath}`);
  }
  const sources = parseSettingsPaths(config, configPath);
  const cache = join(directories.bosh, 'settings.json');
  for (const source of sources) {
    const text = await readFileIfPresent(source);
    if (text === undefined) continue;
    const settings = parseSettings(text, source);
    if ((await readFileIfPresent(cache)) !== text) await writeDurableFile(cache, text);
    return settings;
  }
  const cached = await readFileIfPresent(cache);
  if (cached !== undefined) return parseSettings(cached, cache);
  throw new ProductError('AGENT_SETTINGS_INVALID', `neither ${sources.join(' nor ')} nor ${cache} is there`);
}
