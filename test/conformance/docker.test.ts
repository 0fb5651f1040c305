import { describeDocker } from './docker-suite.ts'

await describeDocker({ name: 'docker', image: 'glovebox/sandbox:latest' })
