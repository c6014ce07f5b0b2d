import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/files.ts';
import { parseSettings, type Settings } from './settings.ts';
import { Field } from '../../platform/field.ts';
import { tryParseJson } from '../../platform/json.ts';

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
  throw new ProductError('AGENT_SETTINGS_INVALID', `neither ${sources.join(' nor ')} nor ${cache} exists`);
}

/**
 * Returns the paths of the settings files in agent.json, in order (bosh-agent:
 * infrastructure/settings_source_factory.go). Throws AGENT_SETTINGS_INVALID if there is no source or if one
 * is not of type File.
 */
export function parseSettingsPaths(text: string, source: string): readonly string[] {
  const config = new Field(tryParseJson(text), '', (path, problem) => {
    const location = path === '' ? source : `${source}: ${path}`;
    return new ProductError('AGENT_SETTINGS_INVALID', `${location} ${problem}`);
  });
  if (!config.isPresent) throw config.error('is not JSON');
  const sources = config.get('Infrastructure').get('Settings').get('Sources');
  const paths = sources.list().map((entry) => {
    const type = entry.get('Type');
    if (type.value !== 'File') throw type.error(`must be File, not '${String(type.value)}'`);
    return entry.get('SettingsPath').stringThat((path) => path.startsWith('/'), 'must be an absolute path');
  });
  if (paths.length === 0) throw sources.error('is missing or empty');
  return paths;
}
