import { describeProviderOnDocker } from './provider-docker-suite.ts'

await describeProviderOnDocker({ name: 'docker', image: 'glovebox/sandbox:latest' })
