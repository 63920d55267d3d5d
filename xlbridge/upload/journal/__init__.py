"""What is written down of uploads, before anything is sent: jobs, their events, their rows."""
