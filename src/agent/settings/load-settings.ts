import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/files.ts';
import { parseSettings, type Settings } from './settings.ts';
import { isObject } from '../../platform/json.ts';

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
  const sources = sourcesOf(text, source);
  const paths = sources.map((entry) => {
    const { Type: type, SettingsPath: path } = isObject(entry) ? entry : {};
    if (type !== 'File') throw invalid(source, `settings source '${String(type)}' is not of type File`);
    if (typeof path !== 'string' || !path.startsWith('/'))
      throw invalid(source, 'SettingsPath must be an absolute path');
    return path;
  });
  if (paths.length === 0) throw invalid(source, 'Infrastructure.Settings.Sources is empty');
  return paths;
}

function sourcesOf(text: string, source: string): readonly unknown[] {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(source, error.message);
    throw error;
  }
  const infrastructure = isObject(root) ? root['Infrastructure'] : undefined;
  const settings = isObject(infrastructure) ? infrastructure['Settings'] : undefined;
  const sources = isObject(settings) ? settings['Sources'] : undefined;
  if (!Array.isArray(sources)) throw invalid(source, 'there is no Infrastructure.Settings.Sources');
  return sources;
}

function invalid(source: string, cause: string): ProductError {
  return new ProductError('AGENT_SETTINGS_INVALID', `${source}: ${cause}`);
}
